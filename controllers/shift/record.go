// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/mesh/shift"
)

// ownedStatus is the part of a GlobalService's status that this controller owns.
type ownedStatus struct {
	Conditions []metav1.Condition    `json:"conditions,omitempty"`
	Shift      v1alpha1.ShiftStatus  `json:"shift"`
	Steps      []v1alpha1.StepRecord `json:"steps,omitempty"`
}

func ownStatus(gs *v1alpha1.GlobalService) ownedStatus {
	out := ownedStatus{Shift: gs.Status.Shift, Steps: gs.Status.Steps}
	if c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionTrafficShifted); c != nil {
		out.Conditions = []metav1.Condition{*c}
	}
	return out
}

// recordsOf returns what is new: the step, and a Done for each cluster whose goal this state meets for the first time.
func (r *Reconciler) recordsOf(gs *v1alpha1.GlobalService, drains []v1alpha1.ClusterDrain, step shift.Step, plan v1alpha1.GlobalServiceSpec) []v1alpha1.StepRecord {
	wants := wantsOf(drains)
	newRecord := func(kind shift.Kind, cluster string) v1alpha1.StepRecord {
		rec := v1alpha1.StepRecord{
			Kind: kind.String(), Cluster: cluster, Message: hub.Clip(sentence(step, kind, cluster), v1alpha1.MaxMessage),
			Generation: plan.Generation, FenceGeneration: plan.FenceGeneration, StartedAt: metav1.NewMicroTime(r.Now()),
			Weights: remembered(gs.Status.Weights, step.Proofs.Weights), Fence: remembered(gs.Status.Fence, step.Proofs.Fence),
			TraceID: tracing.IDOf(drains, cluster), Quiet: quietWord(step.Proofs.Quiet),
		}
		switch d := served(wants, cluster); {
		case d != nil:
			rec.Goal, rec.TraceID = d.Status.Goal, tracing.ID(d)
		case gs.Spec.Record != nil && owns(plan):
			rec.Goal = v1alpha1.GoalMove
		}
		if kind == shift.ReplicasUp || kind == shift.ReplicasDown {
			rec.Replicas = &step.Replicas
		}
		return rec
	}
	var out []v1alpha1.StepRecord
	for _, cluster := range step.Finished {
		if d := wants[cluster].drain; d != nil && !alreadyDone(gs.Status.Steps, d) {
			out = append(out, newRecord(shift.Done, cluster))
		}
	}
	if step.Kind != shift.Wait && step.Kind != shift.Done {
		if rec := newRecord(step.Kind, step.Cluster); !repeats(gs.Status.Steps, rec) {
			out = append(out, rec)
		}
	}
	return out
}

// served is the drain that a step serves: its cluster's own, else the one that asked first, for whose sake other clusters
// get or give back replicas. Nil: no drain is going on.
func served(wants map[string]want, cluster string) *v1alpha1.ClusterDrain {
	if d := wants[cluster].drain; d != nil {
		return d
	}
	var first want
	for _, w := range wants {
		if first.drain == nil || w.turn < first.turn {
			first = w
		}
	}
	return first.drain
}

// owns says whether a plan is for replicas too.
func owns(plan v1alpha1.GlobalServiceSpec) bool {
	return slices.ContainsFunc(plan.Clusters, func(c v1alpha1.GlobalServiceCluster) bool { return c.Replicas != nil })
}

func quietWord(e shift.Evidence) v1alpha1.QuietState {
	switch e {
	case shift.Measured:
		return v1alpha1.QuietQuiet
	case shift.Limit:
		return v1alpha1.QuietLimit
	case shift.NotAsked:
	}
	return ""
}

// remembered is a proof as a step keeps it: what it rested on, cut so that thirty-two of them fit into one object.
// rested is the level that the step itself rests on: a wait that stood in for proxies is Timed, whatever stands now.
func remembered(p v1alpha1.ProofStatus, rested shift.Level) *v1alpha1.ProofStatus {
	out := p.DeepCopy()
	if rested == shift.Timed {
		out.Level = v1alpha1.ProofTimed
	}
	out.Istiods = out.Istiods[:min(len(out.Istiods), v1alpha1.MaxRecordedIstiods)]
	for i := range out.Istiods {
		proxies := out.Istiods[i].Proxies
		out.Istiods[i].Proxies = proxies[:min(len(proxies), v1alpha1.MaxRecordedProxies)]
	}
	return out
}

// repeats says whether the last record is of the same step: it was recorded, and the plan was not written then.
func repeats(steps []v1alpha1.StepRecord, rec v1alpha1.StepRecord) bool {
	if len(steps) == 0 {
		return false
	}
	last := steps[len(steps)-1]
	return last.Kind == rec.Kind && last.Cluster == rec.Cluster && last.Goal == rec.Goal && ptr.Equal(last.Replicas, rec.Replicas) &&
		last.Generation == rec.Generation && last.FenceGeneration == rec.FenceGeneration
}

// alreadyDone says whether the last that was recorded of a drain's cluster is that its goal was met, since the goal was
// set: who turned a drain round and back waits for a record that is younger than the question.
func alreadyDone(steps []v1alpha1.StepRecord, d *v1alpha1.ClusterDrain) bool {
	for _, s := range slices.Backward(steps) {
		if s.Cluster == d.Spec.ClusterName {
			return s.Kind == shift.Done.String() && s.Goal == d.Status.Goal &&
				(d.Status.StartedAt == nil || !s.StartedAt.Time.Before(d.Status.StartedAt.Time))
		}
	}
	return false
}

func statusOf(gs *v1alpha1.GlobalService, step shift.Step, blocked []shift.Blocked, records []v1alpha1.StepRecord, now time.Time) ownedStatus {
	out := ownedStatus{
		Shift: v1alpha1.ShiftStatus{Step: step.Kind.String(), Cluster: step.Cluster, Blocked: blockersOf(blocked), Notices: noticesOf(blocked)},
		Steps: thin(forget(append(beganNow(gs, step, now), records...))),
	}
	out.Shift.Since = gs.Status.Shift.Since
	if gs.Status.Shift.Step != out.Shift.Step || gs.Status.Shift.Cluster != out.Shift.Cluster || out.Shift.Since == nil {
		t := metav1.NewTime(now.Truncate(time.Second))
		out.Shift.Since = &t
	}
	conditions := ownStatus(gs).Conditions
	meta.SetStatusCondition(&conditions, shiftedCondition(gs, step, blocked))
	out.Conditions = conditions
	return out
}

// beganNow are the steps on record. One that was recorded and not planned yet begins only now: waits are counted from its
// time, and while the hub was away in between nobody was asked for anything.
func beganNow(gs *v1alpha1.GlobalService, step shift.Step, now time.Time) []v1alpha1.StepRecord {
	out := slices.Clone(gs.Status.Steps)
	if n := len(out); n > 0 && (out[n-1].Generation > gs.Spec.Generation || out[n-1].FenceGeneration > gs.Spec.FenceGeneration) &&
		out[n-1].Kind == step.Kind.String() && out[n-1].Cluster == step.Cluster {
		out[n-1].StartedAt = metav1.NewMicroTime(now)
	}
	return out
}

// thin leaves of the proofs of older steps what they were worth, and of when.
func thin(steps []v1alpha1.StepRecord) []v1alpha1.StepRecord {
	for i := range steps[:max(0, len(steps)-v1alpha1.MaxNamedSteps)] {
		s := &steps[i]
		s.Weights, s.Fence = nameless(s.Weights), nameless(s.Fence)
	}
	return steps
}

func nameless(p *v1alpha1.ProofStatus) *v1alpha1.ProofStatus {
	if p == nil {
		return nil
	}
	out := *p // the list may be a cache's
	out.Istiods, out.Missing, out.Unweighted = nil, nil, nil
	return &out
}

// forget cuts a list to what a status holds, the oldest first. That a cluster's goal was met is kept as long as nothing
// newer is known of it: while the cluster is off nobody can tell it again, and all others' moves rest on it.
func forget(steps []v1alpha1.StepRecord) []v1alpha1.StepRecord {
	over := len(steps) - v1alpha1.MaxSteps
	if over <= 0 {
		return steps
	}
	newest := map[string]int{}
	for i, s := range steps {
		newest[s.Cluster] = i
	}
	var out []v1alpha1.StepRecord
	for i, s := range steps {
		if over > 0 && (s.Kind != shift.Done.String() || newest[s.Cluster] != i) {
			over--
			continue
		}
		out = append(out, s)
	}
	return out[over:]
}

func shiftedCondition(gs *v1alpha1.GlobalService, step shift.Step, blocked []shift.Blocked) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionTrafficShifted, ObservedGeneration: gs.Generation,
		Status: metav1.ConditionTrue, Reason: "AsWanted", Message: "traffic is where it is wanted",
	}
	if step.Kind == shift.Done {
		return c
	}
	c.Status, c.Reason = metav1.ConditionFalse, step.Kind.String()
	c.Message = sentence(step, step.Kind, step.Cluster)
	var waits []string
	for _, b := range blocked {
		if !b.Note {
			c.Reason = b.Code.String()
			// Several of them may be one to a reader, as two proxies of which only the cluster is told.
			if s := b.Sentence(); !slices.Contains(waits, s) {
				waits = append(waits, s)
			}
		}
	}
	if len(waits) > 0 {
		c.Message = strings.Join(waits[:min(len(waits), 3)], "; ")
	}
	return c
}

// sentence says a step in words.
func sentence(step shift.Step, kind shift.Kind, cluster string) string {
	switch kind {
	case shift.Rules:
		return "writing the subsets to every member"
	case shift.Split:
		return "writing new weights: " + splitWords(step.Split)
	case shift.Fence:
		return fmt.Sprintf("fencing pods of %s, %d in all", cluster, step.Fenced)
	case shift.Unfence:
		return fmt.Sprintf("taking the fence off pods of %s, all but %d", cluster, step.Fenced)
	case shift.Renew:
		return "writing the same plan anew, so that it can be proven"
	case shift.Release:
		return "letting go of the record of the move"
	case shift.Done:
		return fmt.Sprintf("%s is where it was wanted", cluster)
	case shift.ReplicasUp:
		return fmt.Sprintf("asking for %s in %s", hub.Count(step.Replicas, "replica"), cluster)
	case shift.ReplicasDown:
		return fmt.Sprintf("leaving %s in %s: the others are fenced, quiet and idle, or were never ready", hub.Count(step.Replicas, "replica"), cluster)
	case shift.DNSOut:
		return fmt.Sprintf("taking %s out of the answers of DNS, before the last of its traffic goes", cluster)
	case shift.DNSIn:
		return fmt.Sprintf("naming %s in the answers of DNS again", cluster)
	case shift.Wait:
	}
	return "waiting"
}

func splitWords(split []shift.Weight) string {
	var parts []string
	for _, w := range split {
		parts = append(parts, fmt.Sprintf("%s %d.%d %%", w.Cluster, w.Share/10, w.Share%10))
	}
	return strings.Join(parts, ", ")
}
