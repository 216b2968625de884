// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/resview/pb"
)

// world is a hub with one service, its drains' reconciler, and an agent in the drained cluster.
type world struct {
	*testing.T

	hub      client.WithWatch
	r        *Reconciler
	link     *fleettest.Link
	recorder *events.FakeRecorder
	spans    *tracetest.InMemoryExporter
	now      time.Time
	fail     error // of the next write of a status
}

func newWorld(t *testing.T, services []v1alpha1.GlobalService, drains ...*v1alpha1.ClusterDrain) *world {
	t.Helper()
	var objects []client.Object
	for _, name := range []string{"c1", "c2", "c3"} {
		objects = append(objects, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for i := range services {
		objects = append(objects, &services[i])
	}
	for _, d := range drains {
		objects = append(objects, d)
	}
	w := &world{T: t, now: now, link: fleettest.NewLink(t), recorder: events.NewFakeRecorder(100), spans: tracetest.NewInMemoryExporter()}
	w.hub = fleettest.Hub(t, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := w.fail; err != nil {
				w.fail = nil
				return err
			}
			return c.SubResource(sub).Apply(ctx, o, opts...)
		},
	}, objects...)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans), sdktrace.WithIDGenerator(tracing.Generator{}))
	w.r = &Reconciler{Client: w.hub, Members: w.link.Server, Recorder: w.recorder, Tracer: tracing.New(provider), Now: func() time.Time { return w.now }}
	return w
}

// look reconciles as often as one event and its echoes would, a second later.
func (w *world) look(name string) *v1alpha1.ClusterDrain {
	w.Helper()
	w.now = w.now.Add(time.Second)
	for range 3 {
		if _, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}}); err != nil {
			w.Fatal(err)
		}
	}
	return w.drain(name)
}

// drain returns nil where it is gone.
func (w *world) drain(name string) *v1alpha1.ClusterDrain {
	w.Helper()
	var d v1alpha1.ClusterDrain
	err := w.hub.Get(w.Context(), client.ObjectKey{Name: name}, &d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return &d
}

func (w *world) want(name string, desired v1alpha1.DesiredService) {
	w.Helper()
	d := w.drain(name)
	d.Spec.Desired = desired
	if err := w.hub.Update(w.Context(), d); err != nil {
		w.Fatal(err)
	}
}

// reach writes down that every service met the goal of the drain, as their controller does.
func (w *world) reach(name string) {
	w.Helper()
	d := w.drain(name)
	var list v1alpha1.GlobalServiceList
	if err := w.hub.List(w.Context(), &list); err != nil {
		w.Fatal(err)
	}
	for i := range list.Items {
		gs := &list.Items[i]
		gs.Status.Steps = append(gs.Status.Steps, v1alpha1.StepRecord{
			Kind: "Done", Goal: d.Status.Goal, Cluster: d.Spec.ClusterName, StartedAt: metav1.NewMicroTime(w.now),
		})
		if d.Status.Goal == v1alpha1.GoalDrain {
			fence(gs, d.Spec.ClusterName)
		}
		if err := w.hub.Status().Update(w.Context(), gs); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) told() string {
	var out []string
	for {
		select {
		case e := <-w.recorder.Events:
			out = append(out, e)
		default:
			return strings.Join(out, "\n")
		}
	}
}

func quietMember() *pb.MemberFacts {
	return &pb.MemberFacts{Gateways: []*pb.GatewayFacts{{Name: "istio-ingress/gw", Load: &pb.Load{Measured: true, QuietScrapes: 3}}}}
}

func threeOf() []v1alpha1.GlobalService {
	return []v1alpha1.GlobalService{serviceOf(map[string]int32{"c1": 3, "c2": 3, "c3": 3})}
}

func reason(d *v1alpha1.ClusterDrain, kind string) string {
	if c := meta.FindStatusCondition(d.Status.Conditions, kind); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

func safe(d *v1alpha1.ClusterDrain) string {
	if d.Status.SafeToPowerOff == nil {
		return "unsaid"
	}
	return fmt.Sprint(*d.Status.SafeToPowerOff)
}

func TestADrainIsHeldByAFinalizerBeforeAnythingMoves(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	if _, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c2"}}); err != nil {
		t.Fatal(err)
	}
	if d := w.drain("c2"); !slices.Contains(d.Finalizers, Finalizer) || d.Status.Goal != "" {
		t.Errorf("after the first look: %v, goal %q", d.Finalizers, d.Status.Goal)
	}
}

func TestADrainFromItsWishToItsEndAndBack(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	agent := w.link.Join(t, "c2", quietMember())
	d := w.look("c2")
	if d.Status.Goal != v1alpha1.GoalDrain || d.Status.Progress != "0/1" || safe(d) != "false" || reason(d, "Ready") != "True Draining" || reason(d, "Drained") != "False Moving" {
		t.Fatalf("begun: %+v", d.Status)
	}
	trace := d.Status.TraceID
	w.reach("c2")
	d = w.look("c2")
	if d.Status.Progress != "1/1" || safe(d) != "true" || reason(d, "Drained") != "True SafeToPowerOff" || reason(d, "TrafficShifted") != "True Shifted" || d.Status.FinishedAt == nil {
		t.Fatalf("drained: %+v", d.Status)
	}
	if s := w.spans.GetSpans(); len(s) != 1 || s[0].Name != "Drain c2" || s[0].SpanContext.TraceID().String() != trace {
		t.Errorf("spans %+v, trace %s", s, trace)
	}
	w.link.Leave(t, "c2", agent)
	if d = w.look("c2"); safe(d) != "true" {
		t.Errorf("switched off: %+v", d.Status)
	}
	w.want("c2", v1alpha1.InService)
	if d = w.look("c2"); d.Status.Goal != v1alpha1.GoalUndrain || d.Status.FinishedAt != nil || safe(d) != "unsaid" || d.Status.TraceID == trace {
		t.Fatalf("turned round: %+v", d.Status)
	}
	w.reach("c2")
	if d = w.look("c2"); d.Status.Goal != "" || d.Status.FinishedAt == nil || reason(d, "Ready") != "True InService" || reason(d, "Drained") != "False InService" || len(d.Status.Services) > 0 {
		t.Fatalf("back: %+v", d.Status)
	}
	w.want("c2", v1alpha1.OutOfService)
	if d = w.look("c2"); d.Status.Goal != v1alpha1.GoalDrain || d.Status.Progress != "0/1" || safe(d) != "false" || d.Status.FinishedAt != nil {
		t.Errorf("drained again: %+v", d.Status)
	}
	told := w.told()
	for _, want := range []string{"Normal Draining", "Normal SafeToPowerOff", "Normal InService", "Normal Shifted"} {
		if !strings.Contains(told, want) {
			t.Errorf("no event %q in\n%s", want, told)
		}
	}
}

func TestALookThatChangesNothingWritesNothing(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	version := w.look("c2").ResourceVersion
	if d := w.look("c2"); d.ResourceVersion != version {
		t.Error("it wrote")
	}
}

func TestDeletionIsAnAbortThatHoldsTheObjectUntilTrafficIsBack(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	d := w.look("c2")
	if err := w.hub.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if d = w.look("c2"); d == nil || d.Status.Goal != v1alpha1.GoalAbort || reason(d, "Ready") != "True Abort" {
		t.Fatalf("deleted half way: %+v", d)
	}
	w.reach("c2")
	if d = w.look("c2"); d != nil {
		t.Errorf("traffic is back and it is still there: %+v", d.Status)
	}
	if s := w.spans.GetSpans(); len(s) != 1 || s[0].Name != "Abort c2" {
		t.Errorf("spans %+v", s)
	}
}

// A member that leaves takes its drain with it: no service counts it any more, so there is nothing to give back.
func TestTheDrainOfAMemberThatLeavesEndsAtOnceAndGivesNothingBack(t *testing.T) {
	w := newWorld(t, []v1alpha1.GlobalService{serviceOf(map[string]int32{"c1": 3, "c3": 3})}, drainObject("c2", "", v1alpha1.OutOfService))
	d := w.look("c2")
	if d.Status.Goal != v1alpha1.GoalDrain {
		t.Fatalf("got %+v", d.Status)
	}
	if err := w.hub.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if d = w.look("c2"); d != nil {
		t.Errorf("it is still there: %+v", d.Status)
	}
}

func TestARefusedDrainMovesNothingAndLetsGoAtOnce(t *testing.T) {
	w := newWorld(t, []v1alpha1.GlobalService{serviceOf(map[string]int32{"c1": 0, "c2": 3})}, drainObject("c2", "", v1alpha1.OutOfService))
	d := w.look("c2")
	if d.Status.Goal != "" || reason(d, "Ready") != "False LastCopy" || safe(d) == "true" {
		t.Fatalf("got %+v", d.Status)
	}
	if told := w.told(); !strings.Contains(told, "Warning LastCopy") || !strings.Contains(told, "demo/echo") {
		t.Errorf("events %s", told)
	}
	if err := w.hub.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if d = w.look("c2"); d != nil {
		t.Errorf("it is still there: %+v", d)
	}
}

func TestTheSecondOfTwoDrainsThatLeaveNobodyIsRefused(t *testing.T) {
	first, second := drainObject("c1", "", v1alpha1.OutOfService), drainObject("c2", "", v1alpha1.OutOfService)
	w := newWorld(t, []v1alpha1.GlobalService{serviceOf(map[string]int32{"c1": 3, "c2": 3})}, first, second)
	if d := w.look("c1"); d.Status.Goal != v1alpha1.GoalDrain {
		t.Fatalf("the first: %+v", d.Status)
	}
	if d := w.look("c2"); d.Status.Goal != "" || reason(d, "Ready") != "False LastCopy" {
		t.Errorf("the second: %+v", d.Status)
	}
}

func TestAServiceThatKeepsItsLastCopyIsSkippedAndTheClusterIsNotSafe(t *testing.T) {
	alone := serviceOf(map[string]int32{"c2": 3})
	alone.Name = "alone"
	alone.Status.Shift.Blocked = []v1alpha1.Blocker{{Code: "LastCluster", Cluster: "c2", Message: "no other cluster serves"}}
	d := drainObject("c2", "", v1alpha1.OutOfService)
	d.Spec.LastCopy = v1alpha1.LastCopySkip
	w := newWorld(t, append(threeOf(), alone), d)
	w.link.Join(t, "c2", quietMember())
	w.look("c2")
	var gs v1alpha1.GlobalService
	if err := w.hub.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "echo"}, &gs); err != nil {
		t.Fatal(err)
	}
	fence(&gs, "c2")
	gs.Status.Steps = []v1alpha1.StepRecord{{Kind: "Done", Goal: v1alpha1.GoalDrain, Cluster: "c2", StartedAt: metav1.NewMicroTime(w.now)}}
	if err := w.hub.Status().Update(t.Context(), &gs); err != nil {
		t.Fatal(err)
	}
	got := w.look("c2")
	if got.Status.Progress != "1/2" || safe(got) != "false" || reason(got, "Drained") != "False LastCopy" {
		t.Errorf("got %+v", got.Status)
	}
}

// An abort is under way, the user wants out of service again, and that is refused: the abort must end all the same,
// or its cluster stays in a move for ever.
func TestAnAbortEndsAlthoughTheNextDrainIsRefused(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	w.look("c2")
	w.want("c2", v1alpha1.InService)
	w.look("c2")
	var gs v1alpha1.GlobalService
	if err := w.hub.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "echo"}, &gs); err != nil {
		t.Fatal(err)
	}
	for i := range gs.Status.Clusters {
		if gs.Status.Clusters[i].Name != "c2" {
			gs.Status.Clusters[i].Ready = 0
		}
	}
	if err := w.hub.Status().Update(t.Context(), &gs); err != nil {
		t.Fatal(err)
	}
	w.want("c2", v1alpha1.OutOfService)
	if d := w.look("c2"); d.Status.Goal != v1alpha1.GoalAbort || reason(d, "Ready") != "False LastCopy" {
		t.Fatalf("refused half way back: %+v", d.Status)
	}
	w.reach("c2")
	if d := w.look("c2"); d.Status.Goal != "" || d.Status.FinishedAt == nil || reason(d, "Ready") != "False LastCopy" {
		t.Errorf("traffic is back: %+v", d.Status)
	}
}

func TestAStatusThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	drains := schema.GroupResource{Resource: "clusterdrains"}
	cases := map[string]struct {
		failure error
		fails   bool
	}{
		"conflict":  {apierrors.NewConflict(drains, "c2", errors.New("x")), false},
		"gone":      {apierrors.NewNotFound(drains, "c2"), false},
		"forbidden": {apierrors.NewForbidden(drains, "c2", errors.New("no right")), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := drainObject("c2", "", v1alpha1.OutOfService)
			d.Finalizers = []string{Finalizer}
			w := newWorld(t, threeOf(), d)
			w.fail = c.failure
			result, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c2"}})
			if (err != nil) != c.fails || err == nil && result.RequeueAfter == 0 {
				t.Fatalf("again after %s, %v", result.RequeueAfter, err)
			}
			if err != nil && !strings.Contains(err.Error(), "cluster drain c2") {
				t.Errorf("%q does not say which", err)
			}
			if got := w.told(); got != "" {
				t.Errorf("what was not written was told: %s", got)
			}
			if got := w.look("c2"); got.Status.Goal != v1alpha1.GoalDrain {
				t.Errorf("got %+v", got.Status)
			}
		})
	}
}

func TestWhoStillCallsIsNamedInBounds(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	facts := &pb.ServiceFacts{Ref: &pb.ServiceRef{Namespace: "demo", Name: "echo"}, Type: "ClusterIP"}
	for i := range 40 {
		facts.Pods = append(facts.Pods, &pb.Pod{Name: fmt.Sprintf("echo-%d", i), Uid: fmt.Sprint(i), Ready: true, Load: &pb.Load{
			Measured: true, Callers: []string{fmt.Sprintf("%d: %s", i, strings.Repeat("x", 1000)), "10.0.0.7"},
		}})
	}
	w.link.Join(t, "c2", quietMember(), facts)
	w.look("c2")
	w.reach("c2")
	d := w.look("c2")
	if safe(d) != "false" || reason(d, "Drained") != "True StillCalled" || len(d.Status.UnmeshedCallers) != v1alpha1.MaxUnmeshedCallers {
		t.Errorf("safe %s, %s, %d callers", safe(d), reason(d, "Drained"), len(d.Status.UnmeshedCallers))
	}
	if !slices.ContainsFunc(d.Status.UnmeshedCallers, func(s string) bool { return strings.HasPrefix(s, "demo/echo: ") }) {
		t.Errorf("callers %q", d.Status.UnmeshedCallers[0])
	}
}

func TestWorkloadsThatRunOnAreNamed(t *testing.T) {
	services := threeOf()
	services[0].Status.Clusters[1].Workloads = []string{"Deployment/echo", "Deployment/echo-canary"}
	services[0].Status.Clusters[2].Workloads = []string{"Deployment/elsewhere"}
	w := newWorld(t, services, drainObject("c2", "", v1alpha1.OutOfService))
	got := w.look("c2").Status.UnownedWorkloads
	if !slices.Equal(got, []string{"demo/Deployment/echo", "demo/Deployment/echo-canary"}) {
		t.Errorf("got %v", got)
	}
}

func TestANoticeOfAServiceIsNoWaitOfTheDrain(t *testing.T) {
	services := threeOf()
	services[0].Status.Shift = v1alpha1.ShiftStatus{Step: "Fence", Notices: []v1alpha1.Notice{
		{Code: "HeadroomLost", Cluster: "c3", Message: "of another move"},
		{Code: "HeadroomLost", Cluster: "c2", Message: "less than before"},
		{Code: "Unsteered", Cluster: "c2", Message: "gateway follows no weights"},
	}}
	w := newWorld(t, services, drainObject("c2", "", v1alpha1.OutOfService))
	row := w.look("c2").Status.Services[0]
	if row.Step != "Fence" || row.Headroom != "less than before" || len(row.Blocked) > 0 {
		t.Errorf("got %+v", row)
	}
	if c := meta.FindStatusCondition(w.drain("c2").Status.Conditions, "Drained"); c.Reason != "Moving" || strings.Contains(c.Message, "less than") || strings.Contains(c.Message, "gateway") {
		t.Errorf("condition %+v", c)
	}
}

func TestADrainSaysWhatItsServicesWaitFor(t *testing.T) {
	services := threeOf()
	services[0].Status.Shift = v1alpha1.ShiftStatus{Step: "Wait", Blocked: []v1alpha1.Blocker{
		{Code: "HeadroomLost", Cluster: "c3", Message: "of another move"},
		{Code: "HeadroomLost", Cluster: "c2", Message: "less than before; waiting for consent"},
		{Code: "WeightsUnproven", Message: "waiting for web.demo"},
	}}
	w := newWorld(t, services, drainObject("c2", "", v1alpha1.OutOfService))
	row := w.look("c2").Status.Services[0]
	if row.Step != "Wait" || row.Headroom != "less than before; waiting for consent" || len(row.Blocked) != 2 {
		t.Errorf("got %+v", row)
	}
	if c := meta.FindStatusCondition(w.drain("c2").Status.Conditions, "Drained"); !strings.Contains(c.Message, "demo/echo") {
		t.Errorf("condition %+v", c)
	}
}
