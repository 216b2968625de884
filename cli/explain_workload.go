// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// explainedWorkload is one federated workload.
type explainedWorkload struct {
	// Workload is NAMESPACE/NAME, and Binding that of its ResourceBinding.
	Workload string `json:"workload"`
	Binding  string `json:"binding"`
	Wanted   int32  `json:"wanted"`
	Unplaced int32  `json:"unplaced"`
	// Services are the global services in front, as NAMESPACE/NAME.
	Services []string `json:"services"`
	// Preference is that by which replicas are divided; absent: none names the workload.
	Preference *v1alpha1.ReplicaPreference `json:"preference,omitempty"`
	// Decision is the one in force; absent: nothing was decided yet.
	Decision *explainedDecision `json:"decision,omitempty"`
	// Step of the shift under way; empty: nothing moves. Waiting is what it waits for, Notices are what it does not wait for.
	Step    string             `json:"step,omitempty"`
	Waiting []v1alpha1.Blocker `json:"waiting"`
	Notices []v1alpha1.Notice  `json:"notices"`
	// Conditions that are not True.
	Conditions []explainedCondition `json:"conditions"`
	Notes      []string             `json:"notes"`
	// Clusters are all members that hold replicas, shall, or are registered, by name.
	Clusters []explainedCluster `json:"clusters"`
}

type explainedDecision struct {
	Time       metav1.Time `json:"time"`
	AgeSeconds int64       `json:"ageSeconds"`
	Trigger    string      `json:"trigger"`
	Wanted     int32       `json:"wanted"`
	// Remembered is how many decisions status.history holds.
	Remembered int `json:"remembered"`
}

type explainedCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// explainedCluster is one member's part. What nobody sees now is absent, and LastSeen says what was seen.
type explainedCluster struct {
	Name string `json:"name"`
	// Registered says whether there is a Cluster of the name.
	Registered bool `json:"registered"`
	// Decided is what the member shall come to hold, Planned what it shall hold now.
	Decided  int32        `json:"decided"`
	Planned  int32        `json:"planned"`
	Applied  *int32       `json:"applied,omitempty"`
	Ready    *int32       `json:"ready,omitempty"`
	Pending  *int32       `json:"pending,omitempty"`
	LastSeen *explainSeen `json:"lastSeen,omitempty"`
	// Rollout and Sync are those of the member's copy, with the reason where it is not as it shall be.
	Rollout string `json:"rollout,omitempty"`
	Sync    string `json:"sync,omitempty"`
	Trouble string `json:"trouble,omitempty"`
	// Owner of the replicas: weir, or an autoscaler in the member. Empty: nobody, there is no copy.
	Owner string `json:"owner,omitempty"`
	// Healthy is the condition of the Cluster, with its reason where it is not True.
	Healthy string `json:"healthy,omitempty"`
	// Drain is the goal of its ClusterDrain, with its progress; empty: none is at work.
	Drain string       `json:"drain,omitempty"`
	View  *explainView `json:"view,omitempty"`
	// Overrides are the paths that the workload overrides for this member.
	Overrides []string `json:"overrides,omitempty"`
	// Reasons are the scheduler's, of the decision in force. A member without a replica has one, or says why it has none.
	Reasons []v1alpha1.DecisionReason `json:"reasons"`
}

type explainSeen struct {
	Applied    int32  `json:"applied"`
	Ready      int32  `json:"ready"`
	AgeSeconds *int64 `json:"ageSeconds,omitempty"`
}

// explainView compares the view that was decided on with the one of now.
type explainView struct {
	// Decided is 0 where the decision needed none.
	Decided    int64  `json:"decided"`
	Now        int64  `json:"now"`
	AgeSeconds *int64 `json:"ageSeconds,omitempty"`
	State      string `json:"state"`
}

func explainWorkload(f *fleet, b *v1alpha1.ResourceBinding, d *v1alpha1.FederatedDeployment, now time.Time) explainedWorkload {
	key := b.Namespace + "/" + b.Name
	w := explainedWorkload{
		Workload: b.Namespace + "/" + b.Spec.Resource.Name, Binding: key, Wanted: b.Spec.Replicas, Unplaced: b.Status.Unplaced, Preference: b.Spec.Preference,
		Services: []string{}, Waiting: []v1alpha1.Blocker{}, Notices: []v1alpha1.Notice{}, Conditions: []explainedCondition{}, Notes: []string{}, Clusters: []explainedCluster{},
	}
	for i := range f.services {
		gs := &f.services[i]
		if !slices.Contains(gs.Bindings(), key) {
			continue
		}
		w.Services = append(w.Services, gs.Namespace+"/"+gs.Name)
		if gs.Binding() == key {
			w.Waiting = append(w.Waiting, gs.Status.Shift.Blocked...)
			w.Notices = append(w.Notices, gs.Status.Shift.Notices...)
			w.Step = stepOf(gs.Status.Shift)
		}
	}
	if len(w.Waiting) == 0 {
		w.Waiting = append(w.Waiting, b.Status.Shift.Blocked...)
	}
	if len(w.Notices) == 0 {
		w.Notices = append(w.Notices, b.Status.Shift.Notices...)
	}
	w.Step = cmp.Or(w.Step, stepOf(b.Status.Shift))
	for _, c := range b.Status.Conditions {
		if c.Status != metav1.ConditionTrue {
			w.Conditions = append(w.Conditions, explainedCondition{c.Type, string(c.Status), c.Reason, c.Message})
		}
	}
	var last *v1alpha1.DecisionRecord
	if n := len(b.Status.History); n > 0 {
		last = &b.Status.History[n-1]
		w.Decision = &explainedDecision{last.Time, int64(ago(last.Time.Time, now).Seconds()), string(last.Trigger), last.Wanted, n}
	}
	w.note(b, d, last)
	if names := f.strangersOf(b.Spec.Preference); len(names) > 0 {
		w.Notes = append(w.Notes, "its preference names "+fewOf(names)+", and no Cluster of such a name is registered: mend the name, or kubectl weir join it")
	}
	for _, name := range f.concerned(b) {
		w.Clusters = append(w.Clusters, f.explainCluster(name, b, d, last, now))
	}
	return w
}

func stepOf(s v1alpha1.ShiftStatus) string {
	if s.Step == "Done" {
		return ""
	}
	return s.Step
}

// note says what makes the rest less than the whole truth.
func (w *explainedWorkload) note(b *v1alpha1.ResourceBinding, d *v1alpha1.FederatedDeployment, last *v1alpha1.DecisionRecord) {
	add := func(format string, args ...any) { w.Notes = append(w.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case last == nil:
		add("nothing was decided yet: the scheduler looks at it within seconds; if that stays, see that the hub runs")
		return
	case d == nil:
		add("the FederatedDeployment is gone, or this binding is of none: its copies are taken away")
	case d.Generation > b.Spec.WishGeneration:
		add("the wish has changed a moment ago (generation %d): what is said here is of generation %d", d.Generation, b.Spec.WishGeneration)
	case last.Wanted != b.Spec.Replicas:
		add("%s wanted now, and the decision in force is of %d: the next one comes within seconds", many(b.Spec.Replicas, "replica"), last.Wanted)
	}
	for _, r := range last.Reasons {
		if r.Cluster == "" {
			add("%s: %s", r.Code, r.Message)
		}
	}
	if more := int(last.ReasonCount) - len(last.Reasons); more > 0 {
		add("the decision gave %s; kept: %d", many(last.ReasonCount, "reason"), len(last.Reasons))
	}
}

// concerned are the members that hold something of a workload, shall, got a reason, or are registered, by name.
func (f *fleet) concerned(b *v1alpha1.ResourceBinding) []string {
	all := map[string]bool{}
	for i := range f.clusters {
		all[f.clusters[i].Name] = true
	}
	for _, c := range b.Spec.Clusters {
		all[c.Name] = true
	}
	for _, p := range b.Spec.Plan {
		all[p.Name] = true
	}
	for _, row := range b.Status.Clusters {
		all[row.Name] = true
	}
	if n := len(b.Status.History); n > 0 {
		for _, r := range b.Status.History[n-1].Reasons {
			all[r.Cluster] = true
		}
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

func (f *fleet) explainCluster(name string, b *v1alpha1.ResourceBinding, d *v1alpha1.FederatedDeployment, last *v1alpha1.DecisionRecord, now time.Time) explainedCluster {
	out := explainedCluster{Name: name, Reasons: []v1alpha1.DecisionReason{}, Drain: f.drainOf(name)}
	cluster := f.cluster(name)
	version := int64(0)
	for _, c := range b.Spec.Clusters {
		if c.Name == name {
			out.Decided, version = c.Replicas, c.ViewVersion
		}
	}
	for _, p := range b.Spec.Plan {
		if p.Name == name {
			out.Planned = p.Replicas
		}
	}
	for i := range b.Status.Clusters {
		if row := &b.Status.Clusters[i]; row.Name == name {
			out.copyOf(row, cluster, now)
		}
	}
	if cluster != nil {
		out.Registered, out.Healthy, out.View = true, condition(cluster.Status.Conditions, v1alpha1.ConditionHealthy), viewNow(cluster, version, now)
	}
	out.Overrides = overridden(d, name)
	if last != nil {
		for _, r := range last.Reasons {
			if r.Cluster == name {
				out.Reasons = append(out.Reasons, r)
			}
		}
		out.unsaid(cluster, last)
	}
	return out
}

func (f *fleet) cluster(name string) *v1alpha1.Cluster {
	for i := range f.clusters {
		if f.clusters[i].Name == name {
			return &f.clusters[i]
		}
	}
	return nil
}

// overridden are the fields that a workload overrides for a member.
func overridden(d *v1alpha1.FederatedDeployment, cluster string) []string {
	if d == nil {
		return nil
	}
	var out []string
	for _, o := range d.Spec.Overrides {
		if o.ClusterName != cluster {
			continue
		}
		for _, x := range o.ClusterOverrides {
			out = append(out, string(x.Path))
		}
	}
	return out
}

// copyOf takes over what the member's copy says, or what it said last.
func (c *explainedCluster) copyOf(row *v1alpha1.MemberReplicas, cluster *v1alpha1.Cluster, now time.Time) {
	c.Sync, c.Rollout = string(row.Sync), string(row.Rollout)
	if row.Sync != v1alpha1.SyncSynced || row.Reason != "" {
		c.Trouble = strings.TrimSpace(row.Reason + " " + row.Message)
	}
	lost := row.Sight == v1alpha1.SightBlind
	if cluster != nil && row.SeenAt != nil && now.Sub(row.SeenAt.Time) > viewLasts && unknownBecause(cluster, now) != "" {
		lost = true // who would have said that it is blind does not run.
	}
	if lost {
		c.Rollout, c.Sync = "", ""
		c.LastSeen = &explainSeen{Applied: row.Applied, Ready: row.Ready}
		if row.SeenAt != nil {
			age := int64(ago(row.SeenAt.Time, now).Seconds())
			c.LastSeen.AgeSeconds = &age
		}
	} else {
		applied, ready, pending := row.Applied, row.Ready, row.Pending
		c.Applied, c.Ready, c.Pending = &applied, &ready, &pending
	}
	c.Owner = replicasOwner(row)
}

// replicasOwner says who sets the replicas of a copy. Where a drain has an autoscaler's limits lowered, weir does.
func replicasOwner(row *v1alpha1.MemberReplicas) string {
	held := row.Autoscaler != nil && row.Autoscaler.State == v1alpha1.AutoscalerHeld
	switch {
	case row.Reason == v1alpha1.ReasonHPA && !held:
		return "autoscaler"
	case row.Sync != v1alpha1.SyncConflict:
		return "weir"
	}
	return "somebody else"
}

func viewNow(c *v1alpha1.Cluster, decided int64, now time.Time) *explainView {
	out := &explainView{Decided: decided, State: stateKnown}
	if reason := unknownBecause(c, now); reason != "" {
		out.State = stateUnknown + " (" + reason + ")"
	}
	if v := c.Status.View; v != nil {
		out.Now = v.Version
		if v.TrueAt != nil {
			age := int64(ago(v.TrueAt.Time, now).Seconds())
			out.AgeSeconds = &age
		}
	}
	return out
}

// unsaid gives a reason where the decision holds none for a member that has no replica.
func (c *explainedCluster) unsaid(cluster *v1alpha1.Cluster, last *v1alpha1.DecisionRecord) {
	if c.Decided > 0 || len(c.Reasons) > 0 || last.Wanted == 0 {
		return
	}
	say := func(code, message string) {
		c.Reasons = append(c.Reasons, v1alpha1.DecisionReason{Cluster: c.Name, Code: code, Message: message})
	}
	switch {
	case cluster == nil:
		say("NotRegistered", "no Cluster of this name is registered")
	case cluster.CreationTimestamp.After(last.Time.Time):
		say("JoinedSince", "it joined after the decision in force, which stands as long as it holds")
	case int(last.ReasonCount) > len(last.Reasons):
		say("NotKept", "the decision gave more reasons than are kept, and this member's is not among them")
	case meta.IsStatusConditionFalse(cluster.Status.Conditions, v1alpha1.ConditionReady):
		say("NotReady", "it is not Ready, and the decision in force gives no reason of its own")
	default:
		say("NoneGiven", "the decision in force gives no reason; its wish wanted nothing there then")
	}
}
