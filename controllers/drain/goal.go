// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/mesh/shift"
)

// verdict is what becomes of a drain's goal at one look.
type verdict struct {
	goal    v1alpha1.GoalKind
	started bool   // the goal is new
	reason  string // why the drain is not Ready; empty: it is
	message string
}

// goalOf says what the drain works for. services are those of its cluster; drains are all there are.
func goalOf(d *v1alpha1.ClusterDrain, clusterExists bool, drains []v1alpha1.ClusterDrain, services []v1alpha1.GlobalService) verdict {
	now := d.Status.Goal
	if d.Spec.Desired == v1alpha1.InService || !d.DeletionTimestamp.IsZero() {
		switch now {
		case v1alpha1.GoalDrain:
			if meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionDrained) {
				return verdict{goal: v1alpha1.GoalUndrain, started: true}
			}
			return verdict{goal: v1alpha1.GoalAbort, started: true}
		case v1alpha1.GoalUndrain, v1alpha1.GoalAbort, v1alpha1.GoalMove:
		}
		return verdict{goal: now}
	}
	if now == v1alpha1.GoalDrain {
		return verdict{goal: now}
	}
	if !clusterExists {
		return verdict{goal: now, reason: "ClusterNotFound", message: fmt.Sprintf(
			"there is no Cluster %q: correct spec.clusterName, or join the cluster first", d.Spec.ClusterName)}
	}
	if other := older(d, drains); other != "" {
		return verdict{goal: now, reason: "Duplicate", message: fmt.Sprintf(
			"ClusterDrain %q is older and drains the same cluster: use that one, and delete this", other)}
	}
	if last := lastCopies(d.Spec.ClusterName, drains, services); len(last) > 0 && d.Spec.LastCopy != v1alpha1.LastCopySkip {
		return verdict{goal: now, reason: "LastCopy", message: fmt.Sprintf(
			"refused: no cluster but %s can serve %s; bring ready replicas up in another one first, or drain the other services alone with --force (lastCopy: Skip)",
			d.Spec.ClusterName, strings.Join(last[:min(len(last), 5)], ", "))}
	}
	return verdict{goal: v1alpha1.GoalDrain, started: true}
}

func older(d *v1alpha1.ClusterDrain, drains []v1alpha1.ClusterDrain) string {
	for _, o := range drains {
		if o.UID == d.UID || o.Spec.ClusterName != d.Spec.ClusterName || !o.DeletionTimestamp.IsZero() {
			continue
		}
		if o.CreationTimestamp.Before(&d.CreationTimestamp) || o.CreationTimestamp.Equal(&d.CreationTimestamp) && o.Name < d.Name {
			return o.Name
		}
	}
	return ""
}

// lastCopies names the services that would have no ready, unfenced pod in sight but those of cluster.
func lastCopies(cluster string, drains []v1alpha1.ClusterDrain, services []v1alpha1.GlobalService) []string {
	leaving := map[string]bool{cluster: true}
	for _, d := range drains {
		if d.Status.Goal == v1alpha1.GoalDrain {
			leaving[d.Spec.ClusterName] = true
		}
	}
	var out []string
	for _, gs := range services {
		if gs.Binding() != "" && len(gs.Status.Clusters) > 1 {
			continue // weir brings replicas up elsewhere first, or its shift says why it cannot
		}
		var here, elsewhere int32
		for _, c := range gs.Status.Clusters {
			switch {
			case c.Name == cluster:
				here = c.Ready
			case !leaving[c.Name] && c.Sight == v1alpha1.SightSeen:
				elsewhere += max(c.Ready-c.Fenced, 0)
			}
		}
		if here > 0 && elsewhere == 0 {
			out = append(out, gs.Namespace+"/"+gs.Name)
		}
	}
	slices.Sort(out)
	return out
}

// line sums up one service. done says whether it has reached the drain's goal since the goal was set.
func line(d *v1alpha1.ClusterDrain, gs *v1alpha1.GlobalService) (v1alpha1.DrainedService, bool) {
	out := v1alpha1.DrainedService{Namespace: gs.Namespace, Name: gs.Name, Step: gs.Status.Shift.Step}
	for _, c := range gs.Status.Clusters {
		if c.Name == d.Spec.ClusterName {
			out.Quiet = c.Quiet
		}
	}
	out.Headroom = headroomOf(d.Spec.ClusterName, gs)
	skipped := false
	for _, b := range gs.Status.Shift.Blocked {
		if b.Cluster != "" && b.Cluster != d.Spec.ClusterName && b.Code == shift.HeadroomLost.String() {
			continue
		}
		switch b.Code {
		case shift.LastCluster.String(), shift.LastCopy.String():
			skipped = skipped || b.Cluster == d.Spec.ClusterName
		}
		if len(out.Blocked) < 5 {
			out.Blocked = append(out.Blocked, b)
		}
	}
	if skipped && d.Spec.LastCopy == v1alpha1.LastCopySkip {
		out.Step = stepSkipped
		return out, false
	}
	if reached(d, gs) {
		out.Step, out.Blocked = shift.Done.String(), nil
		return out, true
	}
	if len(out.Blocked) == 0 {
		out.Blocked = unsaid(d.Spec.ClusterName, gs)
	}
	return out, false
}

// skipWith has services skipped too that wait for one that is, being behind the same pods of the cluster: these stay. The rows
// are those of the services, in the same order.
func skipWith(d *v1alpha1.ClusterDrain, services []v1alpha1.GlobalService, rows []v1alpha1.DrainedService) {
	if d.Spec.LastCopy != v1alpha1.LastCopySkip {
		return
	}
	skipped := map[string]bool{}
	shares := func(b v1alpha1.Blocker) bool {
		return b.Code == shift.SharedPods.String() && b.Cluster == d.Spec.ClusterName && skipped[b.Subject]
	}
	for more := true; more; {
		more = false
		for i := range rows {
			row, key := &rows[i], keyOf(&services[i]).String()
			if skipped[key] || row.Step != stepSkipped && (row.Step == shift.Done.String() || !slices.ContainsFunc(services[i].Status.Shift.Blocked, shares)) {
				continue
			}
			row.Step, skipped[key], more = stepSkipped, true, true
		}
	}
}

// headroomOf says what a drain of the cluster costs a service in headroom, whether consent is waited for or not.
func headroomOf(cluster string, gs *v1alpha1.GlobalService) string {
	for _, b := range gs.Status.Shift.Blocked {
		if b.Code == shift.HeadroomLost.String() && b.Cluster == cluster {
			return b.Message
		}
	}
	for _, n := range gs.Status.Shift.Notices {
		if n.Code == shift.HeadroomLost.String() && n.Cluster == cluster {
			return n.Message
		}
	}
	return ""
}

// unsaid says what a service waits for where its shift does not: the shift has nothing to say while nothing is written, and
// takes no step when a fence that was opened by hand is put on again.
func unsaid(cluster string, gs *v1alpha1.GlobalService) []v1alpha1.Blocker {
	if c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status != metav1.ConditionTrue {
		return []v1alpha1.Blocker{{Code: shift.RulesUnproven.String(), Wakes: shift.ProofArrived.String(), Subject: c.Reason, Message: hub.Clip(
			"weir cannot write the rules of this service ("+c.Reason+"): "+c.Message, v1alpha1.MaxMessage)}}
	}
	if at := gs.Status.Shift; at.Cluster == cluster && at.Step != shift.Done.String() {
		return nil // its pods are being fenced, or given back, step by step
	}
	for _, c := range gs.Status.Clusters {
		if c.Name == cluster && c.RefencedAt != nil {
			return []v1alpha1.Blocker{{Code: shift.FenceUnproven.String(), Cluster: cluster, Wakes: shift.ProofArrived.String(), Message: fmt.Sprintf(
				"ready pods of %s were seen without the fence, which is put on again: waiting for the proof that no proxy holds them", cluster)}}
		}
	}
	return nil
}

// stepSkipped stands for a service whose last copy is in the drained cluster, or that is on the same pods as such a one.
const stepSkipped = "Skipped"

// open says whether pods of the cluster are seen to serve, or are to: outside the fence, or with a weight in the plan.
// What was fenced and proven may be open again since, by a hand that took labels off, by pods that came up without the
// fence, or because another cluster joined under the name; until that is mended the record of the end counts for nothing.
func open(cluster string, gs *v1alpha1.GlobalService) bool {
	for _, c := range gs.Status.Clusters {
		if c.Name == cluster && (c.Sight == v1alpha1.SightSeen && c.Fenced < c.Ready || c.Weight.Wanted > 0) {
			return true
		}
	}
	return false
}

// openedSince says whether pods of the cluster were outside the fence after a time, and no proof of the fence is younger.
// What is noted are whole seconds: of the same second, they were.
func openedSince(cluster string, gs *v1alpha1.GlobalService, at time.Time) bool {
	for _, c := range gs.Status.Clusters {
		if c.Name == cluster && c.RefencedAt != nil && at.Before(c.RefencedAt.Add(time.Second)) {
			return true
		}
	}
	return false
}

// reached says whether the newest record of the cluster says that this goal is met, and was made for it; for a drain,
// that it is still so.
func reached(d *v1alpha1.ClusterDrain, gs *v1alpha1.GlobalService) bool {
	if d.Status.Goal == v1alpha1.GoalDrain && open(d.Spec.ClusterName, gs) {
		return false
	}
	for _, s := range slices.Backward(gs.Status.Steps) {
		if s.Cluster != d.Spec.ClusterName {
			continue
		}
		return s.Kind == shift.Done.String() && s.Goal == d.Status.Goal &&
			d.Status.StartedAt != nil && !s.StartedAt.Time.Before(d.Status.StartedAt.Time) &&
			(d.Status.Goal != v1alpha1.GoalDrain || !openedSince(d.Spec.ClusterName, gs, s.StartedAt.Time))
	}
	return false
}
