// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
	"github.com/weir-io/weir/sched/adapter"
)

// nodes are the views of a fleet.
type nodes struct {
	all   map[string]*view.View
	serve map[string][]string // nil: not known
	asked int
	onAsk func(n int)
	since time.Time // when they were true; zero: now
	now   func() time.Time
}

func (n *nodes) View(cluster string) (stream.MemberView, bool) {
	n.asked++
	if n.onAsk != nil {
		n.onAsk(n.asked)
	}
	confirmed := n.since
	if confirmed.IsZero() {
		confirmed = n.now()
	}
	return stream.MemberView{
		Cluster: cluster, View: n.all[cluster], Serves: n.serve[cluster], ConfirmedAt: confirmed, Fresh: 30 * time.Second,
	}, true
}

// see gives a cluster one node with so many free cores.
func (n *nodes) see(t *testing.T, cluster string, version uint64, cores int64) {
	t.Helper()
	book := view.NewBook(1)
	node := view.Node{Name: "n1", Allocatable: view.MakeAmounts(map[string]int64{"cpu": 1000 * cores, "pods": 100})}
	node.Conditions = node.Conditions.With(view.Ready, view.True)
	if err := book.Add(&node); err != nil {
		t.Fatal(err)
	}
	book.Seal(version)
	n.all[cluster] = book.View()
}

type world struct {
	client.WithWatch
	*testing.T

	r     *Reconciler
	views *nodes
	now   time.Time
	told  *events.FakeRecorder
}

const web = `
metadata: {namespace: shop, name: web, uid: u1, generation: 1}
spec:
  template:
    spec:
      replicas: 6
      template: {spec: {containers: [{name: web, image: a, resources: {requests: {cpu: "1"}}}]}}
  placement: {}
`

func parsed[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// newWorld is a hub with members c1 to cN of ten free cores each, and the workload of the text with its wish.
func newWorld(t *testing.T, members int, workload string, more ...client.Object) *world {
	t.Helper()
	w := &world{T: t, views: &nodes{all: map[string]*view.View{}}, now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), told: events.NewFakeRecorder(100)}
	w.views.now = func() time.Time { return w.now }
	d := parsed[v1alpha1.FederatedDeployment](t, workload)
	wish, errs := adapter.Wish(d, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: d.BindingName()}, Spec: wish}
	objects := append([]client.Object{d, b}, more...)
	for i := range members {
		name := fmt.Sprintf("c%d", i+1)
		objects = append(objects, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
		w.views.see(t, name, 1, 10)
	}
	w.WithWatch = fleettest.Hub(t, interceptor.Funcs{}, objects...)
	w.r = &Reconciler{Client: w, Views: w.views, Recorder: w.told, Now: func() time.Time { return w.now }}
	return w
}

// pass makes passes until nothing is written any more, and returns the binding.
func (w *world) pass() *v1alpha1.ResourceBinding {
	w.Helper()
	for range 10 {
		before := w.binding().ResourceVersion
		if _, err := w.r.Reconcile(w.Context(), all); err != nil {
			w.Fatal(err)
		}
		if b := w.binding(); b.ResourceVersion == before {
			return b
		}
	}
	w.Fatal("it writes again and again")
	return nil
}

func (w *world) binding() *v1alpha1.ResourceBinding {
	w.Helper()
	b := &v1alpha1.ResourceBinding{}
	if err := w.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: "deployment-web"}, b); err != nil {
		w.Fatal(err)
	}
	return b
}

// run says what members hold: as planned, and all of it ready.
func (w *world) run(change ...func(*v1alpha1.MemberReplicas)) {
	w.Helper()
	b := w.binding()
	var rows []v1alpha1.MemberReplicas
	for _, p := range b.Spec.Plan {
		row := v1alpha1.MemberReplicas{Name: p.Name, Applied: p.Replicas, Ready: p.Replicas, MemberCopy: v1alpha1.MemberCopy{Sight: v1alpha1.SightSeen}}
		for _, c := range change {
			c(&row)
		}
		rows = append(rows, row)
	}
	// No apply: in this bench that of a status takes a hold on the whole object, and nothing of the spec would go again.
	b.Status.Clusters, b.Status.ObservedGeneration = rows, b.Generation
	if err := w.Status().Update(w.Context(), b); err != nil {
		w.Fatal(err)
	}
}

func (w *world) drain(cluster string) *v1alpha1.ClusterDrain {
	w.Helper()
	d := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: cluster}}
	if err := w.Create(w.Context(), d); err != nil {
		w.Fatal(err)
	}
	d.Status.Goal = v1alpha1.GoalDrain
	if err := w.Status().Update(w.Context(), d); err != nil {
		w.Fatal(err)
	}
	return d
}

func (w *world) want(b *v1alpha1.ResourceBinding, decision, plan string, triggers ...v1alpha1.DecisionTrigger) {
	w.Helper()
	var d, p []string
	for _, c := range b.Spec.Clusters {
		d = append(d, fmt.Sprintf("%s:%d", c.Name, c.Replicas))
	}
	for _, c := range b.Spec.Plan {
		p = append(p, fmt.Sprintf("%s:%d", c.Name, c.Replicas))
	}
	if got := strings.Join(d, " "); got != decision {
		w.Errorf("decided %q, want %q", got, decision)
	}
	if got := strings.Join(p, " "); got != plan {
		w.Errorf("planned %q, want %q", got, plan)
	}
	var got []v1alpha1.DecisionTrigger
	for _, r := range b.Status.History {
		got = append(got, r.Trigger)
	}
	if fmt.Sprint(got) != fmt.Sprint(triggers) {
		w.Errorf("history %v, want %v", got, triggers)
	}
}

func TestANewWorkloadIsDividedAndRemembered(t *testing.T) {
	w := newWorld(t, 3, web)
	b := w.pass()
	w.want(b, "c1:2 c2:2 c3:2", "c1:2 c2:2 c3:2", v1alpha1.TriggerCreated)
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionScheduled); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", b.Status.Conditions)
	}
	if r := b.Status.History[0]; r.Wanted != 6 || r.WishGeneration != 1 || r.ClusterCount != 3 || b.Spec.Clusters[0].ViewVersion != 1 {
		t.Errorf("%+v", r)
	}
	select {
	case e := <-w.told.Events:
		if !strings.Contains(e, "Scheduled") {
			t.Error(e)
		}
	default:
		t.Error("no event was made")
	}
}

func TestADrainMovesReplicasUpBeforeTheyGoDownAndAnUndrainGivesThemBack(t *testing.T) {
	w := newWorld(t, 3, web)
	w.pass()
	w.run()
	drain := w.drain("c1")
	w.want(w.pass(), "c2:3 c3:3", "c1:2 c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
	w.run(func(row *v1alpha1.MemberReplicas) {
		if row.Name == "c3" {
			row.Ready = 2
		}
	})
	b := w.pass()
	w.want(b, "c2:3 c3:3", "c1:1 c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
	if s := b.Status.Shift; s.Step != "ReplicasDown" || len(s.Blocked) != 1 || s.Blocked[0].Cluster != "c3" {
		t.Errorf("%+v", s)
	}
	w.run()
	b = w.pass()
	w.want(b, "c2:3 c3:3", "c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTrafficShifted); c == nil || c.Reason != "Settled" {
		t.Errorf("%+v", c)
	}
	if err := w.Delete(t.Context(), drain); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.want(w.pass(), "c1:2 c2:2 c3:2", "c1:2 c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain, v1alpha1.TriggerUndrain)
}

// An autoscaler keeps what a move left there, and the plan says nothing of it.
func TestADrainLowersAnAutoscalerWhereNothingIsPlanned(t *testing.T) {
	w := newWorld(t, 2, strings.Replace(web, "placement: {}", "placement: {clusters: [{name: c1}]}", 1))
	w.pass()
	w.run()
	b := w.binding()
	b.Status.Clusters = append(b.Status.Clusters, v1alpha1.MemberReplicas{
		Name: "c2", Applied: 3, Ready: 3, MemberCopy: v1alpha1.MemberCopy{Sight: v1alpha1.SightSeen, Reason: v1alpha1.ReasonHPA},
		Autoscaler: &v1alpha1.MemberAutoscaler{Name: "HorizontalPodAutoscaler web", State: v1alpha1.AutoscalerOwns},
	})
	if err := w.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if b = w.pass(); len(b.Spec.Lowered) > 0 {
		t.Errorf("in service, %v are lowered", b.Spec.Lowered)
	}
	w.drain("c2")
	b = w.pass()
	w.want(b, "c1:6", "c1:6", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
	if !slices.Equal(b.Spec.Lowered, []string{"c2"}) {
		t.Errorf("drained, %v are lowered", b.Spec.Lowered)
	}
}

func TestWhatFitsNowhereIsCountedAndPlacedWhenThereIsRoom(t *testing.T) {
	w := newWorld(t, 1, strings.Replace(web, "replicas: 6", "replicas: 12", 1))
	registry := prometheus.NewRegistry()
	var err error
	if w.r.Metrics, err = NewMetrics(registry); err != nil {
		t.Fatal(err)
	}
	b := w.pass()
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if n := testutil.ToFloat64(w.r.Metrics.unplaced); n != 2 {
		t.Errorf("%v replicas are counted as unplaced", n)
	}
	w.want(b, "c1:10", "c1:10", v1alpha1.TriggerCreated)
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionScheduled)
	if b.Status.Unplaced != 2 || c.Status != metav1.ConditionFalse || c.Reason != ReasonUnplaced || !strings.Contains(c.Message, "2 of 12 replicas without a place; c1: ") {
		t.Errorf("%d, %+v", b.Status.Unplaced, c)
	}
	w.run()
	w.views.see(t, "c1", 2, 20)
	w.want(w.pass(), "c1:10", "c1:10", v1alpha1.TriggerCreated)
	w.now = w.now.Add(tryAgain)
	w.want(w.pass(), "c1:12", "c1:12", v1alpha1.TriggerCreated, v1alpha1.TriggerCapacityChanged)
}

func TestTwoWorkloadsOfOneBatchDoNotGetTheSamePlace(t *testing.T) {
	w := newWorld(t, 1, web)
	w.add("api")
	// Ten cores for twelve replicas: the first by name is placed whole.
	w.want(w.pass(), "c1:4", "c1:4", v1alpha1.TriggerCreated)
}

func TestADecisionIsMadeAgainWhenTheViewMovesBeforeItIsWritten(t *testing.T) {
	w := newWorld(t, 2, web)
	w.views.onAsk = func(n int) {
		if n == 3 { // both views were read for the decision: this is the look before the commit.
			w.views.see(t, "c1", 2, 1)
		}
	}
	b := w.pass()
	w.want(b, "c1:1 c2:5", "c1:1 c2:5", v1alpha1.TriggerPlacementFailed)
	if b.Spec.Clusters[0].ViewVersion != 2 {
		t.Errorf("%+v", b.Spec.Clusters)
	}
}

func TestAnOldViewPlacesNothingAndTakesNothingAway(t *testing.T) {
	w := newWorld(t, 2, web)
	w.pass()
	w.run()
	w.views.since = w.now
	w.now = w.now.Add(10 * time.Minute)
	w.want(w.pass(), "c1:3 c2:3", "c1:3 c2:3", v1alpha1.TriggerCreated)
}

func TestABindingThatWasLostIsMadeAnewFromWhatMembersHold(t *testing.T) {
	work := func(cluster string, replicas int) *v1alpha1.Work {
		w := &v1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.MemberNamespace(cluster), Name: v1alpha1.WorkName("Deployment", "shop", "web"),
			Labels: v1alpha1.WorkLabels("Deployment", "shop", "web"), Annotations: map[string]string{v1alpha1.AnnotationWorkCluster: cluster},
		}}
		w.Spec.Workload.Manifests = make([]v1alpha1.Manifest, 1)
		w.Spec.Workload.Manifests[0].Raw = fmt.Appendf(nil, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": %d}}`, replicas)
		return w
	}
	w := newWorld(t, 2, web, work("c1", 5), work("c2", 1))
	w.want(w.pass(), "c1:5 c2:1", "c1:5 c2:1", v1alpha1.TriggerCreated)
}

func TestAHubThatBeginsAnewChangesNothingThatDoesNotHaveToChange(t *testing.T) {
	w := newWorld(t, 3, web)
	b := w.pass()
	w.run()
	before := w.pass()
	w.r = &Reconciler{Client: w, Views: w.views, Recorder: w.told, Now: w.r.Now}
	if after := w.pass(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("before %+v\nafter %+v", before.Spec, after.Spec)
	}
	w.want(w.binding(), "c1:2 c2:2 c3:2", "c1:2 c2:2 c3:2", b.Status.History[0].Trigger)
}

func TestTheHistoryHoldsTheLastTen(t *testing.T) {
	w := newWorld(t, 1, web)
	for i := range v1alpha1.MaxDecisions + 3 {
		b := w.binding()
		part := b.Spec.DeepCopy()
		part.Replicas, part.Clusters, part.Plan = int32(i%9+1), nil, nil
		name := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
		if _, err := hub.ApplySpec(t.Context(), w, "weir-binding", name, b.ResourceVersion, part); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	if h := w.binding().Status.History; len(h) != v1alpha1.MaxDecisions || h[9].Trigger != v1alpha1.TriggerWishChanged || h[9].Wanted != 4 {
		t.Errorf("%d: %+v", len(h), h[len(h)-1])
	}
}

func TestAWorkloadThatIsGoingIsLeftAlone(t *testing.T) {
	w := newWorld(t, 1, web)
	d := &v1alpha1.FederatedDeployment{}
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	if err := w.Get(t.Context(), key, d); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	w.want(w.pass(), "", "")
}

// Between the look and the write somebody else writes: what made weir decide is not lost with the write.
func TestADecisionThatCouldNotBeWrittenIsOwed(t *testing.T) {
	w := newWorld(t, 3, web)
	w.pass()
	w.run()
	w.pass()
	w.drain("c1")
	fails := true
	w.r.Client = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if fails {
				fails = false
				return apierrors.NewConflict(schema.GroupResource{Resource: "resourcebindings"}, "deployment-web", nil)
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	result, err := w.r.Reconcile(t.Context(), all)
	if err != nil || result.RequeueAfter != hub.SoonAgain {
		t.Fatalf("%+v, %v", result, err)
	}
	w.want(w.pass(), "c2:3 c3:3", "c1:2 c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
}

// The cache still shows what stood before the last pass, and something else of the object is to be written: what that pass
// decided must not be forgotten, nor why.
func TestAPassOnAnOldPictureForgetsNoDecision(t *testing.T) {
	pinned := web + "  overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/replicas, value: 4}]}]\n"
	w := newWorld(t, 2, pinned)
	w.pass()
	w.run()
	w.pass()
	old := w.binding()
	old.Status.Shift.Step = stepUp // which is over by now
	w.drain("c2")
	w.want(w.pass(), "c1:4", "c1:4 c2:2", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)

	late := *w.r
	late.Client = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if bindings, ok := list.(*v1alpha1.ResourceBindingList); ok && err == nil {
				bindings.Items = []v1alpha1.ResourceBinding{*old.DeepCopy()}
			}
			return err
		},
	})
	for range 3 {
		if _, err := late.Reconcile(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Second)
	}
	if b := w.binding(); b.Status.Unplaced != 2 || len(b.Status.History) != 2 {
		t.Errorf("%d unplaced, %d decisions on record", b.Status.Unplaced, len(b.Status.History))
	}
	w.want(w.pass(), "c1:4", "c1:4 c2:2", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
}

// Members begin with what was decided as soon as it is written, and tell so: what goes with the decision is written all the same.
func TestWhatGoesWithADecisionIsNotLostToWhoWritesInBetween(t *testing.T) {
	w := newWorld(t, 2, web)
	w.r.Client = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := c.Apply(ctx, o, opts...); err != nil {
				return err
			}
			b := w.binding() //nolint:contextcheck // the test's own context.
			b.Labels = map[string]string{"touched": "yes"}
			return c.Update(ctx, b)
		},
	})
	if _, err := w.r.Reconcile(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if b := w.binding(); len(b.Spec.Clusters) != 2 || len(b.Status.History) != 1 {
		t.Errorf("decided %v, on record %v", b.Spec.Clusters, b.Status.History)
	}
}

// Of what was decided and not begun no view knows: its room is not given away again, to itself least of all.
func TestADecisionThatNoMemberHasBegunKeepsItsRoom(t *testing.T) {
	w := newWorld(t, 2, web)
	w.views.see(t, "c1", 2, 2)
	w.views.see(t, "c2", 2, 2)
	b := w.pass()
	w.want(b, "c1:2 c2:2", "c1:2 c2:2", v1alpha1.TriggerCreated)
	// The hub ends between the decision and its record, and decides once more.
	b.Status = v1alpha1.ResourceBindingStatus{}
	if err := w.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.r = &Reconciler{Client: w, Views: w.views, Recorder: w.told, Now: func() time.Time { return w.now }}
	b = w.pass()
	w.want(b, "c1:2 c2:2", "c1:2 c2:2", v1alpha1.TriggerCreated)
	if b.Status.Unplaced != 2 {
		t.Errorf("%d without a place", b.Status.Unplaced)
	}
}
