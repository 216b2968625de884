// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/weir-io/weir/resview/view"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: "a", "arch": "arm",
		}},
		Status: corev1.NodeStatus{
			Capacity:    list("cpu", "4", "memory", "16Gi", "pods", "110", "nvidia.com/gpu", "1"),
			Allocatable: list("cpu", "3900m", "memory", "15Gi", "pods", "110", "nvidia.com/gpu", "1"),
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
				{Type: "VendorsOwn", Status: corev1.ConditionTrue},
			},
		},
	}
}

func container(pairs ...string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list(pairs...)}}
}

func podOn(node, name string, containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: containers},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// stage is a recorder at work.
type stage struct {
	*testing.T
	*Recorder

	kube *fake.Clientset
}

// play runs a recorder on a member with these objects, in fake time.
func play(t *testing.T, objects []runtime.Object, script func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset(objects...)
		r, err := New(Config{Kube: kube})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := r.Run(ctx); err != nil {
				t.Errorf("run: %v", err)
			}
		}()
		synctest.Wait()
		script(&stage{T: t, kube: kube, Recorder: r})
		cancel()
		<-done
	})
}

func TestASnapshotHoldsWhatNodesHaveAndWhatPodsTake(t *testing.T) {
	done := podOn("a", "done", container("cpu", "1"))
	done.Status.Phase = corev1.PodSucceeded
	waiting := podOn("", "waiting", container("cpu", "1"))
	tainted := node("b")
	tainted.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	cordoned := node("c")
	cordoned.Spec.Unschedulable = true
	objects := []runtime.Object{
		node("a"), tainted, cordoned, podOn("a", "x", container("cpu", "250m", "memory", "1Gi"), container("cpu", "1")),
		podOn("a", "y", container("nvidia.com/gpu", "1")), podOn("c", "z", container("cpu", "1")), done, waiting,
	}
	play(t, objects, func(s *stage) {
		a := view.Node{
			Name:        "a",
			Allocatable: view.Amounts{{Name: "cpu", Value: 3900}, {Name: "memory", Value: 15 << 30}, {Name: "nvidia.com/gpu", Value: 1}, {Name: "pods", Value: 110}},
			Reserved:    view.Amounts{{Name: "cpu", Value: 100}, {Name: "memory", Value: 1 << 30}},
			Allocated:   view.Amounts{{Name: "cpu", Value: 1250}, {Name: "memory", Value: 1 << 30}, {Name: "nvidia.com/gpu", Value: 1}, {Name: "pods", Value: 2}},
			Labels:      []view.Label{{Key: "arch", Value: "arm"}, {Key: corev1.LabelTopologyZone, Value: "a"}},
			Conditions:  view.Conditions(0).With(view.Ready, view.True).With(view.DiskPressure, view.False),
		}
		b := a
		b.Name, b.Allocated = "b", nil
		b.Taints = []view.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}}
		differ(s, "nodes", []view.Node{a, b}, contents(s.Snapshot()))
		if v := s.Snapshot().Version(); v != 1 {
			s.Errorf("the first snapshot has version %d", v)
		}
	})
}

func TestAPodTakesWhatTheSchedulerCounts(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar, first := container("cpu", "100m"), container("cpu", "2", "memory", "1Gi")
	sidecar.RestartPolicy = &always
	resized := container("cpu", "1")
	resized.Name = "app"
	cases := map[string]struct {
		pod  func(*corev1.Pod)
		want string // CPU
	}{
		"containers add up": {func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{container("cpu", "1"), container("cpu", "500m")}
		}, "1500m"},
		"nothing asked, nothing taken": {func(*corev1.Pod) {}, "0"},
		"the largest first container":  {func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{first, container("cpu", "1")} }, "2"},
		"a sidecar stays beside": {func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{container("cpu", "1")}
			p.Spec.InitContainers = []corev1.Container{sidecar}
		}, "1100m"},
		"a sidecar before the first": {func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{sidecar, first} }, "2100m"},
		"the runtime costs": {func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{container("cpu", "1")}
			p.Spec.Overhead = list("cpu", "50m")
		}, "1050m"},
		"the pod's own word": {func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "3")} }, "3"},
		"the larger while it is resized": {func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{resized}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Resources: &corev1.ResourceRequirements{Requests: list("cpu", "2")}}}
		}, "2"},
		"less than a thousandth is round": {func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{container("cpu", "100u")} }, "1m"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := podOn("a", "x")
			c.pod(p)
			want := resource.MustParse(c.want)
			got := requestsOf(p)
			if got.Of(view.CPU) != want.MilliValue() || got.Of(view.Pods) != 1 {
				t.Errorf("got %v, want %s of CPU and one pod", got, c.want)
			}
		})
	}
}

func TestWhatHappensInTheMemberIsTold(t *testing.T) {
	play(t, []runtime.Object{node("a"), podOn("a", "x", container("cpu", "1"))}, func(s *stage) {
		hub := follow(s, s.Snapshot())
		pods, nodes := s.kube.CoreV1().Pods("shop"), s.kube.CoreV1().Nodes()
		step := func(what string, do func() error, want map[string]int64) {
			s.Helper()
			if err := do(); err != nil {
				s.Fatalf("%s: %v", what, err)
			}
			synctest.Wait()
			hub.catchUp(s, s.After)
			got := map[string]int64{}
			for n := range hub.book.View().All() {
				got[n.Name] = n.Allocated.Of(view.CPU)
			}
			differ(s, what, want, got)
			differ(s, what+": the snapshot", contents(s.Snapshot()), contents(hub.book.View()))
		}
		step("a pod comes", func() error {
			_, err := pods.Create(s.Context(), podOn("a", "y", container("cpu", "500m")), metav1.CreateOptions{})
			return err
		}, map[string]int64{"a": 1500})
		step("a node comes", func() error { _, err := nodes.Create(s.Context(), node("b"), metav1.CreateOptions{}); return err },
			map[string]int64{"a": 1500, "b": 0})
		step("a pod is scheduled", func() error {
			_, err := pods.Create(s.Context(), podOn("", "z", container("cpu", "2")), metav1.CreateOptions{})
			if err == nil {
				_, err = pods.Update(s.Context(), podOn("b", "z", container("cpu", "2")), metav1.UpdateOptions{})
			}
			return err
		}, map[string]int64{"a": 1500, "b": 2000})
		step("a pod is done", func() error {
			p := podOn("a", "y", container("cpu", "500m"))
			p.Status.Phase = corev1.PodFailed
			_, err := pods.Update(s.Context(), p, metav1.UpdateOptions{})
			return err
		}, map[string]int64{"a": 1000, "b": 2000})
		step("a node is cordoned", func() error {
			n := node("b")
			n.Spec.Unschedulable = true
			_, err := nodes.Update(s.Context(), n, metav1.UpdateOptions{})
			return err
		}, map[string]int64{"a": 1000})
		step("a pod of it is evicted", func() error { return pods.Delete(s.Context(), "z", metav1.DeleteOptions{}) },
			map[string]int64{"a": 1000})
		step("it is uncordoned", func() error { _, err := nodes.Update(s.Context(), node("b"), metav1.UpdateOptions{}); return err },
			map[string]int64{"a": 1000, "b": 0})
		step("a pod is made anew under its name", func() error {
			p := podOn("b", "x", container("cpu", "3"))
			p.UID = "another"
			_, err := pods.Update(s.Context(), p, metav1.UpdateOptions{})
			return err
		}, map[string]int64{"a": 0, "b": 3000})
		step("a node goes", func() error { return nodes.Delete(s.Context(), "b", metav1.DeleteOptions{}) },
			map[string]int64{"a": 0})
	})
}

func TestNothingIsToldBeforeTheMemberIsKnown(t *testing.T) {
	r, err := New(Config{Kube: fake.NewClientset(node("a"))})
	if err != nil {
		t.Fatal(err)
	}
	if events, kept := r.After(0, 10); r.Snapshot() != nil || len(events) != 0 || !kept {
		t.Errorf("told before it ran: %v, %v", r.Snapshot(), events)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a recorder without a member was made")
	}
}

func TestRecorderMetricsFollowTheRules(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	r, err := New(Config{Kube: fake.NewClientset(), Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	r.do(func(k *keeper) {
		k.begin()
		k.setNode(nodeOf(node("a")), false)
		k.setPod("p", "a", view.Amounts{{Name: view.CPU, Value: 1}})
	})
	if got := testutil.ToFloat64(r.metrics.unacked); got != 2 {
		t.Errorf("%g events are unacknowledged", got)
	}
	r.Acknowledged(2)
	if got := testutil.ToFloat64(r.metrics.unacked); got != 1 {
		t.Errorf("after an acknowledgement %g are", got)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) != 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}
