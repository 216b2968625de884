// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
)

// outcome is what one look at a service comes to.
type outcome struct {
	policy  v1alpha1.TrafficPolicySpec
	problem *problem // not nil: nothing is written
	ports   []v1alpha1.ServicePort
	foreign foreignWrites
	cost    *v1alpha1.ProxyCost
	notes   []string // what people should know though it stops nothing
	wishes  *v1alpha1.NameWishes
	orders  []order
	held    map[string]error // members whose rules are held back, and why
	base    ownedStatus
	spec    v1alpha1.GlobalServiceSpec
}

func (o *outcome) blocked() bool { return o.problem != nil }

// decide says what shall stand in each member, or why nothing may be written. It reads nothing but its input.
func decide(in *input) outcome {
	out := outcome{spec: in.service.Spec, base: ownStatus(in.service), held: map[string]error{}}
	out.policy, out.problem = in.policy()
	out.wishes, out.notes = in.wishes()
	out.ports = portsOf(in)
	in.hear(targetOf(in, out.spec, out.ports, true))
	rendered := map[string]istio.Rules{}
	for _, m := range in.rulesGoTo() {
		render := renderInput(in, out.spec, out.policy, out.ports, m)
		rules, reasons := istio.Render(render)
		rendered[m.name] = rules
		for _, r := range reasons {
			out.notes = append(out.notes, r.Message)
		}
		if istio.Blocked(reasons) && out.problem == nil && len(in.exporters()) > 1 {
			out.problem = &problem{"NotRenderable", reasons[0].Message}
		}
		out.foreign.add(foreignIn(m, render, rules, out.spec, in.service.Status))
	}
	if out.problem == nil {
		out.problem = out.foreign.problem()
	}
	if out.problem == nil {
		out.problem = in.unsettled(out.spec)
	}
	out.cost = costOf(in, out)
	if out.problem == nil && out.cost != nil && !hasRules(out.spec) {
		out.problem = overBudget(in, *out.cost)
	}
	out.notes = dedupe(out.notes)
	out.order(in, rendered)
	return out
}

// order makes the order of each member that is written to.
func (o *outcome) order(in *input, rendered map[string]istio.Rules) {
	for _, m := range in.rulesGoTo() {
		order := orderOf(in, *o, m, rendered[m.name])
		if err := in.holdsRules(m, order); err != nil {
			order.rules = nil
			o.held[m.name] = err
		}
		o.orders = append(o.orders, order)
	}
	markAnew(o.orders, o.spec, o.base.Fence)
}

// hasRules says whether the plan has rules stand. A plan without a phase has none, as one in phase None.
func hasRules(spec v1alpha1.GlobalServiceSpec) bool {
	return spec.Phase != v1alpha1.RulesNone && spec.Phase != ""
}

func orderOf(in *input, out outcome, m memberView, rules istio.Rules) order {
	o := order{member: m, rules: rulesOf(rules, out.spec.Phase), drain: drainOf(in)}
	refs := ruleRefs(in)
	if out.spec.Phase != v1alpha1.RulesWeights || len(rules.VirtualServices) == 0 {
		o.remove = append(o.remove, refs[0])
	}
	if !hasRules(out.spec) {
		o.remove = refs
	}
	for _, p := range out.spec.Clusters {
		if p.Name != m.name {
			continue
		}
		o.fence = p.NewPods == v1alpha1.PodsFenced // also where the agent is not heard: the API server keeps it
		if m.seen {
			o.labels = fenceOf(m.facts, p, out.spec.FenceGeneration, m.shared.under(in.wantedOut(m.name)))
		}
	}
	in.leaveNoFence(&o)
	o.others = exportOf(in, m)
	if m.facts == nil && m.whole {
		o.remove = append(o.remove, exportRefs(in)[:1]...) // the import stays while somebody exports
	}
	return o
}

// drainOf is the move that this service serves now, for its trace.
func drainOf(in *input) *v1alpha1.ClusterDrain {
	for i := range in.drains {
		if d := &in.drains[i]; in.service.Spec.Record != nil && d.Status.StartedAt != nil && d.Status.FinishedAt == nil {
			return d
		}
	}
	return nil
}

// holders names the members that have the service, or had it when they were last heard.
func (in *input) holders() []string {
	var out []string
	for _, m := range in.exporters() {
		out = append(out, m.name)
	}
	return out
}

// ownedStatus is the part of a GlobalService's status that this controller owns.
type ownedStatus struct {
	ObservedGeneration int64                                 `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition                    `json:"conditions,omitempty"`
	Hosts              []string                              `json:"hosts,omitempty"`
	NameWishes         *v1alpha1.NameWishes                  `json:"nameWishes,omitempty"`
	Ports              []v1alpha1.ServicePort                `json:"ports,omitempty"`
	Policy             *v1alpha1.TrafficPolicySpec           `json:"policy,omitempty"`
	Clusters           []v1alpha1.GlobalServiceClusterStatus `json:"clusters,omitempty"`
	Foreign            []string                              `json:"foreign,omitempty"`
	Rules              v1alpha1.ProofStatus                  `json:"rules"`
	Weights            v1alpha1.ProofStatus                  `json:"weights"`
	Fence              v1alpha1.ProofStatus                  `json:"fence"`
	SpillHeadroom      *int32                                `json:"spillHeadroom,omitempty"`
	Cost               *v1alpha1.ProxyCost                   `json:"cost,omitempty"`
}

func ownStatus(gs *v1alpha1.GlobalService) ownedStatus {
	s := gs.Status
	own := ownedStatus{
		s.ObservedGeneration, nil, s.Hosts, s.NameWishes, s.Ports, s.Policy, s.Clusters, s.Foreign, s.Rules, s.Weights, s.Fence, s.SpillHeadroom, s.Cost,
	}
	for _, t := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionExported} {
		if c := meta.FindStatusCondition(s.Conditions, t); c != nil {
			own.Conditions = append(own.Conditions, *c)
		}
	}
	return own
}

// into copies the owned part over a status.
func (o ownedStatus) into(s *v1alpha1.GlobalServiceStatus) {
	for _, c := range o.Conditions {
		meta.SetStatusCondition(&s.Conditions, c)
	}
	s.ObservedGeneration, s.Hosts, s.NameWishes, s.Ports = o.ObservedGeneration, o.Hosts, o.NameWishes, o.Ports
	s.Policy, s.Clusters = o.Policy, o.Clusters
	s.Foreign, s.Rules, s.Weights, s.Fence, s.SpillHeadroom, s.Cost = o.Foreign, o.Rules, o.Weights, o.Fence, o.SpillHeadroom, o.Cost
}

// widened is the status before anything is written: as before, save that what is wanted counts as held.
func (o *outcome) widened() ownedStatus {
	s := o.base
	if o.blocked() || o.spec.Phase != v1alpha1.RulesWeights {
		return s
	}
	s.Clusters = slices.Clone(s.Clusters)
	for i := range s.Clusters {
		for _, p := range o.spec.Clusters {
			if p.Name == s.Clusters[i].Name {
				w := &s.Clusters[i].Weight
				w.ProvenLow, w.ProvenHigh = min(w.ProvenLow, p.Weight), max(w.ProvenHigh, p.Weight)
			}
		}
	}
	return s
}

// settled is the status after the members were written to; failed says where that did not work.
func (o *outcome) settled(in *input, all failures) ownedStatus {
	s, failed := o.base, all.rules
	s.ObservedGeneration = in.service.Generation
	s.Hosts = hostsOf(istio.HostName(in.key.Name, in.key.Namespace, istio.DefaultDomain), in.service.Status.Names)
	s.NameWishes = o.wishes
	s.Ports, s.Policy, s.Cost = o.ports, &o.policy, o.cost
	foreign := o.foreign.texts()
	s.Foreign = hub.ClipAll(foreign[:min(len(foreign), v1alpha1.MaxForeign)], v1alpha1.MaxMessage)
	s.Rules = fold(in, (*pb.ProofFacts).GetRules, o.spec.Generation, failed)
	s.Weights = fold(in, (*pb.ProofFacts).GetWeights, o.spec.Generation, failed)
	s.Fence = fold(in, (*pb.ProofFacts).GetFence, o.spec.FenceGeneration, failed)
	if o.unmarked(failed) {
		// Nothing was pushed that would prove it: the next look is to mark again.
		s.Fence.Generation, s.Fence.Lease, s.Fence.Level = o.base.Fence.Generation, v1alpha1.LeaseLapsed, v1alpha1.ProofNone
	}
	s.Clusters = clustersOf(in, o.spec, s.Weights, len(failed) == 0 && !o.blocked())
	noteOpened(s.Clusters, o.spec, s.Fence, in.now)
	s.SpillHeadroom = spillHeadroom(s.Clusters)
	conditions := slices.Clone(o.base.Conditions)
	meta.SetStatusCondition(&conditions, o.readyCondition(in, failed))
	meta.SetStatusCondition(&conditions, exportedCondition(in, all.exports))
	s.Conditions = conditions
	return s
}

func (o *outcome) readyCondition(in *input, failed map[string]error) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, ObservedGeneration: in.service.Generation, Status: metav1.ConditionTrue, Reason: "Steered"}
	switch {
	case o.problem != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, o.problem.reason, o.problem.message
		if o.problem.reason == v1alpha1.ReasonLookingForRules {
			c.Status = metav1.ConditionUnknown // nothing is wrong yet
		}
	case len(failed) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, "NotWritten"
		for _, name := range sortedKeys(failed) {
			c.Message += name + ": " + short(name, failed[name]) + "; "
		}
		c.Message = strings.TrimSuffix(c.Message, "; ")
	case len(in.exporters()) < 2:
		c.Reason, c.Message = "SingleCluster", "one cluster serves it: there is nothing to steer until another one does"
	default:
		c.Message = strings.Join(append(slices.Clone(o.notes), o.foreign.unweighted...), "; ")
	}
	if c.Status == metav1.ConditionTrue && !in.service.DeletionTimestamp.IsZero() {
		c.Reason, c.Message = v1alpha1.ReasonDeletionHeld, "it was deleted, and is kept because it is the record of what proxies hold: take "+
			v1alpha1.AnnotationGlobal+" off the Service in "+strings.Join(in.holders(), ", ")+" (of a FederatedService, off its template), and it goes by itself"
	}
	c.Message = hub.Clip(c.Message, 2*v1alpha1.MaxMessage)
	return c
}
