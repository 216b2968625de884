// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/adapter"
)

func TestAWorkloadIsOneThatFitsEverywhere(t *testing.T) {
	d, err := workload(7)
	if err != nil {
		t.Fatal(err)
	}
	if errs := d.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	wish, errs := adapter.Wish(d, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	known, err := newViews(members)
	if err != nil {
		t.Fatal(err)
	}
	var all []sched.ClusterView
	for name := range known {
		m, ok := known.View(name)
		if !ok || m.Age(m.ReceivedAt) != 0 {
			t.Fatalf("view of %s: %+v", name, m)
		}
		v := sched.ClusterView{Cluster: name}
		adapter.Watch(&v, m.View, 100)
		all = append(all, v)
	}
	fleet, err := sched.NewFleet(all)
	if err != nil {
		t.Fatal(err)
	}
	request := adapter.Request(&wish)
	decision := sched.NewBatch(fleet, nil).Decide(&request)
	if decision.Unplaced > 0 || len(decision.Targets) != members {
		t.Errorf("%+v", decision)
	}
	if _, ok := known.View("nobody"); ok {
		t.Error("a member that is not there has a view")
	}
}

func TestABindingCountsWhenAllOfItIsDecidedPlannedAndOnRecord(t *testing.T) {
	whole := func() *v1alpha1.ResourceBinding {
		b := &v1alpha1.ResourceBinding{}
		b.Spec.Replicas = 3
		b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "m000", Replicas: 2}, {Name: "m001", Replicas: 1}}
		b.Spec.Plan = []v1alpha1.ClusterReplicas{{Name: "m000", Replicas: 2}}
		b.Status.History = []v1alpha1.DecisionRecord{{}}
		return b
	}
	if got := placedIn(whole()); got != 2 {
		t.Errorf("in %d members", got)
	}
	for name, spoil := range map[string]func(*v1alpha1.ResourceBinding){
		"not all placed": func(b *v1alpha1.ResourceBinding) { b.Spec.Replicas = 4 },
		"no plan":        func(b *v1alpha1.ResourceBinding) { b.Spec.Plan = nil },
		"no record":      func(b *v1alpha1.ResourceBinding) { b.Status.History = nil },
	} {
		b := whole()
		spoil(b)
		if got := placedIn(b); got != 0 {
			t.Errorf("%s: in %d members", name, got)
		}
	}
}

func TestRequestsAreCountedByMethodAndWatchesAreNot(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	r := &requests{}
	client := &http.Client{Transport: r.count(http.DefaultTransport)}
	for _, q := range []struct{ method, path string }{{"GET", "/a"}, {"GET", "/a?watch=true"}, {"PATCH", "/a"}, {"PATCH", "/b"}} {
		request, err := http.NewRequestWithContext(t.Context(), q.method, server.URL+q.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	if diff := cmp.Diff(map[string]int{"GET": 1, "PATCH": 2}, r.take()); diff != "" {
		t.Error(diff)
	}
	if again := r.take(); len(again) > 0 {
		t.Errorf("counted twice: %v", again)
	}
}

func TestWhatLiesWithinABoundIsCountedFromTheReadingBefore(t *testing.T) {
	family := func(counts ...uint64) *dto.MetricFamily {
		h := &dto.Histogram{SampleCount: new(counts[len(counts)-1])}
		for i, bound := range []float64{.01, .1, math.Inf(1)} {
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: new(bound), CumulativeCount: new(counts[i])})
		}
		return &dto.MetricFamily{Metric: []*dto.Metric{{Histogram: h}}}
	}
	before, after := family(900, 900, 1000), family(960, 999, 1100)
	for part, want := range map[float64]time.Duration{.5: 10 * time.Millisecond, .99: 100 * time.Millisecond} {
		if got := within(before, after, part); got != want {
			t.Errorf("%v: %s, want %s", part, got, want)
		}
	}
	if got := within(nil, before, .5); got != 10*time.Millisecond {
		t.Errorf("from the start: %s", got)
	}
	if got := within(before, family(900, 900, 1100), .5); got < time.Hour {
		t.Errorf("beyond the last bound: %s", got)
	}
}

func TestAPodComesToANodeThatIsThere(t *testing.T) {
	a := &agent{name: "m000", kube: fake.NewClientset(someNodes(nodesEach)...)}
	for range nodesEach + 1 {
		if err := a.come(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	pods, err := a.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != nodesEach+1 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	for _, p := range pods.Items {
		if _, err := a.kube.CoreV1().Nodes().Get(t.Context(), p.Spec.NodeName, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestAHubThatEndsByItselfIsAnErrorWithWhatItSaidLast(t *testing.T) {
	p, err := startProgram(t.Context(), Ground{
		Program: "weir",
		Command: func(ctx context.Context, _ ...string) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", "-c", "echo no rights; exit 3")
		},
		Dial: func(context.Context, net.IP, string, string) (net.Conn, error) { return nil, net.ErrClosed },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.until(t.Context(), "a sign", func(map[string]*dto.MetricFamily) bool { return true }); err == nil {
		t.Error("it was waited for, and gave a sign")
	}
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "no rights") {
		t.Errorf("%v", err)
	}
}
