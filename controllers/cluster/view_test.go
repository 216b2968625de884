// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/recorder"
	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

// seen is a view of nodes with these free cores each, of ten.
func seen(t *testing.T, version uint64, free ...int64) stream.MemberView {
	t.Helper()
	b := view.NewBook(1)
	for i, f := range free {
		err := b.Add(&view.Node{
			Name: fmt.Sprint("n", i), Conditions: view.Conditions(0).With(view.Ready, view.True),
			Allocatable: view.Amounts{{Name: view.CPU, Value: 10_000}, {Name: view.Memory, Value: 1 << 30}, {Name: view.Pods, Value: 110}},
			Allocated:   view.MakeAmounts(map[string]int64{view.CPU: 10_000 - 1000*f}),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.Seal(version)
	return stream.MemberView{Cluster: "c2", View: b.View(), ReceivedAt: now, ConfirmedAt: now, InStep: true, Fresh: 30 * time.Second}
}

func cores(n string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n), corev1.ResourceMemory: resource.MustParse("1Gi")}
}

func TestTheSummaryOfAViewSaysWhatIsFreeInOnePiece(t *testing.T) {
	got := summaryOf(nil, seen(t, 7, 2, 3, 3), now)
	at := hub.Time(now)
	want := &v1alpha1.ViewSummary{
		Version: 7, TrueAt: &at, ConfidencePercent: 100, Nodes: 3,
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("30"), "memory": resource.MustParse("3Gi"), "pods": resource.MustParse("330")},
		Allocated:   corev1.ResourceList{"cpu": resource.MustParse("22")},
		LargestFree: []v1alpha1.FreeShape{{Nodes: 2, Free: cores("3")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := summaryOf(nil, stream.MemberView{}, now); got != nil {
		t.Errorf("of no view: %+v", got)
	}
}

func TestASummaryIsWrittenSeldomAndSoonWhenMuchChanged(t *testing.T) {
	was := summaryOf(nil, seen(t, 7, 5, 5, 5), now)
	steps := map[string]struct {
		later, silence time.Duration
		view           stream.MemberView
		written        bool
	}{
		"nothing changed":                   {30 * time.Second, 0, seen(t, 7, 5, 5, 5), false},
		"nothing changed for long":          {61 * time.Second, 0, seen(t, 7, 5, 5, 5), true},
		"a little changed":                  {30 * time.Second, 0, seen(t, 9, 5, 5, 5), false},
		"much changed at once":              {2 * time.Second, 0, seen(t, 9, 1, 5, 5), false},
		"much changed a while later":        {6 * time.Second, 0, seen(t, 9, 1, 5, 5), true},
		"a node came":                       {6 * time.Second, 0, seen(t, 9, 5, 5, 5, 5), true},
		"it is not confirmed":               {30 * time.Second, 20 * time.Second, seen(t, 7, 5, 5, 5), false},
		"it is not confirmed for long":      {90 * time.Second, 60 * time.Second, seen(t, 7, 5, 5, 5), true},
		"the hub's clock was set back":      {-time.Hour, 0, seen(t, 7, 5, 5, 5), true},
		"contact was lost after all was in": {3 * time.Second, 0, lost(seen(t, 7, 5, 5, 5)), false},
		"contact was lost after a little":   {3 * time.Second, 0, lost(seen(t, 9, 5, 5, 5)), true},
		"the hub has no view any more":      {3 * time.Second, 0, stream.MemberView{}, false},
	}
	for name, s := range steps {
		t.Run(name, func(t *testing.T) {
			at := now.Add(s.later)
			s.view.ConfirmedAt = at.Add(-s.silence)
			if got := summaryOf(was, s.view, at); (got != was) != s.written {
				t.Errorf("written: %+v", got)
			}
		})
	}
}

func lost(v stream.MemberView) stream.MemberView {
	v.InStep = false
	return v
}

func TestAViewThatGrowsOldIsTrustedLessStepByStep(t *testing.T) {
	v := lost(seen(t, 7, 5))
	s := summaryOf(nil, v, now)
	writes, last := 0, s.ConfidencePercent
	for age := time.Duration(0); age < 10*time.Minute; age += time.Second {
		next := summaryOf(s, v, now.Add(age))
		if next != s {
			writes++
		}
		if next.ConfidencePercent > last || next.Version != 7 || !next.TrueAt.Time.Equal(now) {
			t.Fatalf("after %s: %+v", age, next)
		}
		s, last = next, next.ConfidencePercent
	}
	if writes != 4 || last != 0 {
		t.Errorf("%d writes, at the end %d percent", writes, last)
	}
}

func TestTheViewOfAMemberIsInStatusAndStandsWhenContactIsLost(t *testing.T) {
	server := fleettest.NewAPIServer(t)
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint: server.URL, CABundle: server.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: "s"},
	}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: "s"}, Data: map[string][]byte{member.KubeconfigKey: server.Kubeconfig("t")}}
	r, link, _ := reconciler(t, c, secret)
	r.look(t)
	list := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("110")}
	nodes, err := recorder.New(recorder.Config{Kube: fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Status:     corev1.NodeStatus{Capacity: list, Allocatable: list, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := nodes.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	link.Nodes = map[string]stream.NodeSource{"c2": nodes}
	views := link.Server.SubscribeViews()
	defer views.Close()
	agent := link.Join(t, "c2", &pb.MemberFacts{})
	for v, _ := link.Server.View("c2"); v.View == nil; v, _ = link.Server.View("c2") {
		<-views.C()
		views.Take()
	}
	got := r.look(t).Status.View
	if got == nil || got.Nodes != 1 || got.ConfidencePercent != 100 || len(got.LargestFree) != 1 || !got.LargestFree[0].Free.Cpu().Equal(resource.MustParse("4")) {
		t.Fatalf("heard: %+v", got)
	}
	link.Leave(t, "c2", agent)
	r.Now = func() time.Time { return time.Now().Add(time.Hour) }
	lost := r.look(t).Status
	if v := lost.View; v == nil || v.Nodes != 1 || v.Version != got.Version || v.ConfidencePercent != 0 || time.Since(v.TrueAt.Time) > time.Minute {
		t.Errorf("an hour after its end: %+v", v)
	}
	healthy := meta.FindStatusCondition(lost.Conditions, v1alpha1.ConditionHealthy)
	if says := fmt.Sprintf("of its nodes view %d of %s", got.Version, lost.View.TrueAt.UTC().Format(time.RFC3339)); healthy.Status != metav1.ConditionUnknown || !strings.Contains(healthy.Message, says) {
		t.Errorf("%q does not say %q", healthy.Message, says)
	}
}
