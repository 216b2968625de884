// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func drainObject(cluster string, goal v1alpha1.GoalKind, desired v1alpha1.DesiredService) *v1alpha1.ClusterDrain {
	d := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: cluster, UID: types.UID(cluster), CreationTimestamp: metav1.NewTime(now)}}
	d.Spec.ClusterName, d.Spec.Desired, d.Status.Goal = cluster, desired, goal
	if goal != "" {
		t := metav1.NewTime(now.Add(-time.Minute))
		d.Status.StartedAt = &t
	}
	return d
}

func serviceOf(ready map[string]int32) v1alpha1.GlobalService {
	gs := v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo"}}
	for _, name := range []string{"c1", "c2", "c3"} {
		if n, ok := ready[name]; ok {
			gs.Status.Clusters = append(gs.Status.Clusters, v1alpha1.GlobalServiceClusterStatus{Name: name, Ready: n, Replicas: n, Sight: v1alpha1.SightSeen})
		}
	}
	return gs
}

// fence puts all ready pods of a cluster behind the fence.
func fence(gs *v1alpha1.GlobalService, cluster string) {
	for i := range gs.Status.Clusters {
		if c := &gs.Status.Clusters[i]; c.Name == cluster {
			c.Fenced = c.Ready
		}
	}
}

func TestGoalOfADrain(t *testing.T) {
	three := serviceOf(map[string]int32{"c1": 3, "c2": 3, "c3": 3})
	alone := serviceOf(map[string]int32{"c1": 0, "c2": 3})
	owned := *alone.DeepCopy()
	owned.Status.Clusters[1].Binding = "demo/deployment-echo"
	drained := drainObject("c2", v1alpha1.GoalDrain, v1alpha1.InService)
	meta.SetStatusCondition(&drained.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionDrained, Status: metav1.ConditionTrue, Reason: "x"})
	deleted := drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService)
	gone := metav1.NewTime(now)
	deleted.DeletionTimestamp = &gone
	skip := drainObject("c2", "", v1alpha1.OutOfService)
	skip.Spec.LastCopy = v1alpha1.LastCopySkip
	younger := drainObject("c2", "", v1alpha1.OutOfService)
	younger.Name, younger.UID, younger.CreationTimestamp = "again", "again", metav1.NewTime(now.Add(time.Minute))

	cases := map[string]struct {
		drain    *v1alpha1.ClusterDrain
		exists   bool
		others   []v1alpha1.ClusterDrain
		services []v1alpha1.GlobalService
		goal     v1alpha1.GoalKind
		started  bool
		reason   string
	}{
		"a fresh drain begins":                       {drainObject("c2", "", v1alpha1.OutOfService), true, nil, []v1alpha1.GlobalService{three}, v1alpha1.GoalDrain, true, ""},
		"of an unknown cluster is refused":           {drainObject("c2", "", v1alpha1.OutOfService), false, nil, nil, "", false, "ClusterNotFound"},
		"of the last cluster able to serve, refused": {drainObject("c2", "", v1alpha1.OutOfService), true, nil, []v1alpha1.GlobalService{alone}, "", false, "LastCopy"},
		"of the last one, skipping such services":    {skip, true, nil, []v1alpha1.GlobalService{alone}, v1alpha1.GoalDrain, true, ""},
		"of replicas that weir can bring up first":   {drainObject("c2", "", v1alpha1.OutOfService), true, nil, []v1alpha1.GlobalService{owned}, v1alpha1.GoalDrain, true, ""},
		"after all others drain too, refused":        {drainObject("c2", "", v1alpha1.OutOfService), true, []v1alpha1.ClusterDrain{*drainObject("c1", v1alpha1.GoalDrain, ""), *drainObject("c3", v1alpha1.GoalDrain, "")}, []v1alpha1.GlobalService{three}, "", false, "LastCopy"},
		"a second drain of one cluster is told so":   {younger, true, []v1alpha1.ClusterDrain{*drainObject("c2", v1alpha1.GoalDrain, "")}, []v1alpha1.GlobalService{three}, "", false, "Duplicate"},
		"turned round half way is an abort":          {drainObject("c2", v1alpha1.GoalDrain, v1alpha1.InService), true, nil, []v1alpha1.GlobalService{three}, v1alpha1.GoalAbort, true, ""},
		"turned round after the end is an undrain":   {drained, true, nil, []v1alpha1.GlobalService{three}, v1alpha1.GoalUndrain, true, ""},
		"deleted half way is an abort":               {deleted, true, nil, []v1alpha1.GlobalService{three}, v1alpha1.GoalAbort, true, ""},
		"an abort goes on":                           {drainObject("c2", v1alpha1.GoalAbort, v1alpha1.InService), true, nil, []v1alpha1.GlobalService{three}, v1alpha1.GoalAbort, false, ""},
		"an abort that is turned round drains again": {drainObject("c2", v1alpha1.GoalAbort, v1alpha1.OutOfService), true, nil, []v1alpha1.GlobalService{three}, v1alpha1.GoalDrain, true, ""},
		"a drain under way does not ask for leave":   {drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService), true, nil, []v1alpha1.GlobalService{alone}, v1alpha1.GoalDrain, false, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := goalOf(c.drain, c.exists, c.others, c.services)
			if got.goal != c.goal || got.started != c.started || got.reason != c.reason {
				t.Errorf("got %+v", got)
			}
			if got.reason != "" && !strings.ContainsAny(got.message, ":;") {
				t.Errorf("the refusal tells no way out: %q", got.message)
			}
		})
	}
}

func TestADrainIsDoneOnlyByARecordMadeForItsGoal(t *testing.T) {
	d := drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService)
	gs := serviceOf(map[string]int32{"c1": 3, "c2": 3})
	fence(&gs, "c2")
	record := func(kind string, goal v1alpha1.GoalKind, at time.Time) v1alpha1.StepRecord {
		return v1alpha1.StepRecord{Kind: kind, Goal: goal, Cluster: "c2", StartedAt: metav1.NewMicroTime(at)}
	}
	cases := map[string]struct {
		steps []v1alpha1.StepRecord
		want  bool
	}{
		"no record":                {nil, false},
		"done":                     {[]v1alpha1.StepRecord{record("Done", v1alpha1.GoalDrain, now)}, true},
		"done for an older drain":  {[]v1alpha1.StepRecord{record("Done", v1alpha1.GoalDrain, now.Add(-time.Hour))}, false},
		"done for another goal":    {[]v1alpha1.StepRecord{record("Done", v1alpha1.GoalUndrain, now)}, false},
		"done, and moved on since": {[]v1alpha1.StepRecord{record("Done", v1alpha1.GoalDrain, now), record("Fence", v1alpha1.GoalDrain, now)}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gs.Status.Steps = c.steps
			if _, got := line(d, &gs); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestAFenceThatWasOpenedSinceTheEndIsProvenAnewFirst(t *testing.T) {
	d := drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService)
	at := func(d time.Duration) *metav1.Time {
		t := metav1.NewTime(now.Add(d))
		return &t
	}
	for name, c := range map[string]struct {
		opened *metav1.Time
		want   bool
	}{
		"never opened, or proven since": {nil, true},
		"opened before the end":         {at(-2 * time.Second), true},
		"opened in the same second":     {at(0), false},
		"opened after it":               {at(time.Minute), false},
	} {
		t.Run(name, func(t *testing.T) {
			gs := serviceOf(map[string]int32{"c1": 3, "c2": 3})
			fence(&gs, "c2")
			gs.Status.Steps = []v1alpha1.StepRecord{{Kind: "Done", Goal: v1alpha1.GoalDrain, Cluster: "c2", StartedAt: metav1.NewMicroTime(now)}}
			gs.Status.Clusters[1].RefencedAt = c.opened
			row, got := line(d, &gs)
			if got != c.want {
				t.Errorf("done: %t", got)
			}
			if !c.want && (len(row.Blocked) != 1 || !strings.Contains(row.Blocked[0].Message, "waiting for the proof")) {
				t.Errorf("it waits for %+v", row.Blocked)
			}
		})
	}
}

func TestPodsThatAreFencedStepByStepAreNotToldAsOpened(t *testing.T) {
	d := drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService)
	gs := serviceOf(map[string]int32{"c1": 3, "c2": 3})
	opened := metav1.NewTime(now)
	gs.Status.Clusters[1].RefencedAt = &opened
	for _, s := range []struct {
		step, cluster string
		told          bool
	}{{"Fence", "c2", false}, {"Fence", "c1", true}, {"Done", "", true}} {
		gs.Status.Shift = v1alpha1.ShiftStatus{Step: s.step, Cluster: s.cluster}
		if row, _ := line(d, &gs); (len(row.Blocked) > 0) != s.told {
			t.Errorf("at %s of %q it waits for %+v", s.step, s.cluster, row.Blocked)
		}
	}
}

func TestAServiceThatIsStoppedSaysWhyInItsRow(t *testing.T) {
	d := drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService)
	gs := serviceOf(map[string]int32{"c1": 3, "c2": 3})
	meta.SetStatusCondition(&gs.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBudgetExceeded, Message: "raise the hub's budget"})
	row, _ := line(d, &gs)
	if len(row.Blocked) != 1 || !strings.Contains(row.Blocked[0].Message, "BudgetExceeded") || !strings.Contains(row.Blocked[0].Message, "raise the hub's budget") {
		t.Errorf("got %+v", row.Blocked)
	}
	gs.Status.Conditions[0].Status, gs.Status.Conditions[0].Reason = metav1.ConditionUnknown, v1alpha1.ReasonLookingForRules
	if row, _ = line(d, &gs); len(row.Blocked) != 1 || !strings.Contains(row.Blocked[0].Message, "LookingForRules") {
		t.Errorf("while it is not known whether rules may be written, it waits for %+v", row.Blocked)
	}
	gs.Status.Shift.Blocked = []v1alpha1.Blocker{{Code: "Foreign", Message: "somebody's rule"}}
	if row, _ = line(d, &gs); len(row.Blocked) != 1 || row.Blocked[0].Message != "somebody's rule" {
		t.Errorf("what the shift says comes first: %+v", row.Blocked)
	}
}

func TestADrainIsNotDoneWhilePodsServeAgain(t *testing.T) {
	d := drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService)
	cases := map[string]struct {
		change func(*v1alpha1.GlobalServiceClusterStatus)
		want   bool
	}{
		"as it was proven":           {func(*v1alpha1.GlobalServiceClusterStatus) {}, true},
		"a pod without the fence":    {func(c *v1alpha1.GlobalServiceClusterStatus) { c.Ready++ }, false},
		"a fence taken off":          {func(c *v1alpha1.GlobalServiceClusterStatus) { c.Fenced-- }, false},
		"a weight in the plan":       {func(c *v1alpha1.GlobalServiceClusterStatus) { c.Weight.Wanted = 1 }, false},
		"not seen since it was off":  {func(c *v1alpha1.GlobalServiceClusterStatus) { c.Sight, c.Fenced = v1alpha1.SightBlind, 0 }, true},
		"no pod is ready any longer": {func(c *v1alpha1.GlobalServiceClusterStatus) { c.Ready, c.Fenced = 0, 0 }, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			gs := serviceOf(map[string]int32{"c1": 3, "c2": 3})
			gs.Status.Steps = []v1alpha1.StepRecord{{Kind: "Done", Goal: v1alpha1.GoalDrain, Cluster: "c2", StartedAt: metav1.NewMicroTime(now)}}
			fence(&gs, "c2")
			c.change(&gs.Status.Clusters[1])
			if _, got := line(d, &gs); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestSafeToPowerOffNeedsQuietGatewaysAndNoCallerFromOutside(t *testing.T) {
	gs := serviceOf(map[string]int32{"c1": 3, "c2": 3})
	load := func(scrapes uint32, measured bool) *pb.Load {
		return &pb.Load{Measured: measured, QuietScrapes: scrapes}
	}
	snap := func(gateway, pod *pb.Load) *stream.Snapshot {
		return &stream.Snapshot{
			Connected: true,
			Member:    stream.Fact[*pb.MemberFacts]{ReceivedAt: now, Value: &pb.MemberFacts{Gateways: []*pb.GatewayFacts{{Name: "istio-ingress/gw", Load: gateway}}}},
			Services: map[types.NamespacedName]stream.Fact[*pb.ServiceFacts]{{Namespace: "demo", Name: "echo"}: {ReceivedAt: now, Value: &pb.ServiceFacts{
				Pods: []*pb.Pod{{Name: "echo-1", Ready: true, Load: pod}},
			}}},
		}
	}
	old := func(load *pb.Load) *pb.Load { load.AgeMs = 61_000; return load }
	silent := snap(load(2, true), load(2, true))
	silent.Member = stream.Fact[*pb.MemberFacts]{}
	stuck := snap(load(2, true), load(2, true))
	stuck.Member.ReceivedAt = now.Add(-time.Hour)
	cases := map[string]struct {
		snap *stream.Snapshot
		safe bool
	}{
		"all quiet":              {snap(load(2, true), load(2, true)), true},
		"gateway receives":       {snap(load(0, true), load(2, true)), false},
		"gateway not measured":   {snap(load(0, false), load(2, true)), false},
		"pod still receives":     {snap(load(2, true), load(0, true)), false},
		"gateways not told":      {silent, false},
		"gateway told long ago":  {stuck, false},
		"gateway read long ago":  {snap(old(load(2, true)), load(2, true)), false},
		"pod read long ago":      {snap(load(2, true), old(load(2, true))), false},
		"pod is not measured":    {snap(load(2, true), load(2, false)), false},
		"pod cannot be measured": {snap(load(2, true), load(0, false)), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := safetyOf(c.snap, []v1alpha1.GlobalService{gs}, now); got.safe() != c.safe {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSafeToPowerOffIsFalseWhileAServiceMovesAndStaysWhenTheClusterIsOff(t *testing.T) {
	gs := serviceOf(map[string]int32{"c1": 3, "c2": 3})
	fence(&gs, "c2")
	in := &input{drain: drainObject("c2", v1alpha1.GoalDrain, v1alpha1.OutOfService), exists: true, services: []v1alpha1.GlobalService{gs}, now: now}
	s := statusOf(in)
	if s.SafeToPowerOff == nil || *s.SafeToPowerOff {
		t.Fatalf("while moving: %v", s.SafeToPowerOff)
	}
	in.services[0].Status.Steps = []v1alpha1.StepRecord{{Kind: "Done", Goal: v1alpha1.GoalDrain, Cluster: "c2", StartedAt: metav1.NewMicroTime(now)}}
	in.snapshot = &stream.Snapshot{
		Connected: true, InventoryComplete: true, Member: stream.Fact[*pb.MemberFacts]{Value: &pb.MemberFacts{}, ReceivedAt: now},
	}
	in.drain.Status = statusOf(in)
	if !*in.drain.Status.SafeToPowerOff || !meta.IsStatusConditionTrue(in.drain.Status.Conditions, v1alpha1.ConditionDrained) {
		t.Fatalf("drained and quiet: %+v", in.drain.Status)
	}
	in.snapshot = &stream.Snapshot{Connected: false}
	if s := statusOf(in); !*s.SafeToPowerOff {
		t.Errorf("switched off: %+v", s)
	}
}
