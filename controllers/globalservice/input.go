// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/mcs"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// Config is what the operator sets for all services.
type Config struct {
	// SystemNamespace is istiod's in every member.
	SystemNamespace string
	// BudgetClusters and BudgetEndpoints bound what the rules of all services add to one proxy.
	BudgetClusters  int32
	BudgetEndpoints int32
	// SightLost is how long a member may be silent before its facts count as old.
	SightLost time.Duration
}

// input is everything one look at a service rests on.
type input struct {
	key        types.NamespacedName
	now        time.Time
	config     Config
	service    *v1alpha1.GlobalService // nil: there is none yet
	policies   map[string]*v1alpha1.TrafficPolicy
	drains     []v1alpha1.ClusterDrain
	members    []memberView              // sorted by name
	all        []types.NamespacedName    // every global service there is
	neighbours []*v1alpha1.GlobalService // the other global services of the namespace
	others     v1alpha1.ProxyCost        // what the rules of all other services add to a proxy
	leaving    bool                      // a member is being let go, and may hold something of the service still
	standIns   map[string]madeStandIn    // what became of the Services that stand in, by member; nil: none was tried
}

// memberView is one member as far as this service goes.
type memberView struct {
	name     string
	cluster  *v1alpha1.Cluster
	facts    *pb.ServiceFacts // nil: not annotated there, or not known
	standIn  *pb.ServiceFacts // of the Service that weir made because the member has none; nil: there is none
	leftover *pb.ServiceFacts // of one that is global no longer and whose pods still bear a fence; nil: there is none
	shared   shared           // which of its pods other global services are behind too
	since    time.Time        // when facts were received
	member   *pb.MemberFacts  // nil: not known
	proof    *pb.ProofFacts   // nil: none in this session to what is asked now
	proofAt  time.Time
	fresh    bool             // it tells of its Service for a moment only, and may tell of others' rules yet
	snapshot *stream.Snapshot // nil: never heard in this life of the hub
	seen     bool             // connected and heard lately
	whole    bool             // its list of services is complete: absence means gone
	away     bool             // taken out of service, safe to power off, and not connected: nothing of it counts
	mesh     bool             // it runs an istiod, so rules go there
	left     bool             // its Cluster object is gone, and the plan may name it still
	across   bool             // there are members of another network, which reach its pods through a gateway
}

// addLeft adds the members that the service knows and whose Cluster object is gone: weights that still name one must be
// moved in order, as all others are.
func (in *input) addLeft() {
	if in.service == nil {
		return
	}
	var names []string
	for _, c := range in.service.Status.Clusters {
		names = append(names, c.Name)
	}
	for _, c := range in.service.Spec.Clusters {
		if in.unseen() {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(in.members, func(m memberView) bool { return m.name == name }) {
			cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			in.members = append(in.members, memberView{name: name, cluster: cluster, whole: true, left: true})
		}
	}
}

// unseen says whether the service has a plan and nothing was seen of it yet, as when its record was made anew: what
// proxies hold is then unknown.
func (in *input) unseen() bool {
	s := in.service
	return s != nil && s.Status.ObservedGeneration == 0 && len(s.Status.Clusters) == 0
}

// viewOf puts together what is known of a member.
func viewOf(key types.NamespacedName, c *v1alpha1.Cluster, snap *stream.Snapshot, drains []v1alpha1.ClusterDrain, now time.Time, lost time.Duration) memberView {
	v := memberView{name: c.Name, cluster: c, mesh: c.Status.Istio != nil}
	if snap == nil {
		v.away = away(c, drains)
		return v
	}
	v.seen = snap.Connected && now.Sub(snap.LastBeat) <= lost
	v.whole = v.seen && snap.InventoryComplete
	v.away = !snap.Connected && away(c, drains)
	if fact, ok := snap.Services[key]; ok {
		switch a := fact.Value.GetAnnotations(); {
		case a[v1alpha1.AnnotationGlobal] == "true":
			v.facts, v.since = fact.Value, fact.ReceivedAt
		case a[mcs.AnnotationStandIn] == "true" && len(fact.Value.GetSelector()) == 0:
			v.standIn = fact.Value
		default:
			v.leftover = fact.Value
		}
	}
	v.snapshot = snap
	v.member = snap.Member.Value
	if v.member != nil {
		// A mesh without an istiod is one still: its proxies go on by what they were told last, and nobody can prove what.
		v.mesh = len(v.member.GetIstiods()) > 0 || v.member.GetProxies() > 0
	}
	return v
}

// hear takes over each member's answer to what is asked of the provers now; an answer to anything older is none.
func (in *input) hear(target *pb.Target) {
	for i := range in.members {
		m := &in.members[i]
		if m.snapshot == nil {
			continue
		}
		if fact, ok := m.snapshot.Answer(target); ok {
			m.proof, m.proofAt = fact.Value, fact.ReceivedAt
		}
	}
}

// away says whether a cluster is off as it was drained to be: it was safe to power off, and neither its agent nor its API
// server answers. One that was still called, or of which only the agent is silent, serves: its proxies must prove too.
func away(c *v1alpha1.Cluster, drains []v1alpha1.ClusterDrain) bool {
	return contactLost(c) && slices.ContainsFunc(drains, func(d v1alpha1.ClusterDrain) bool {
		return d.Spec.ClusterName == c.Name && d.Spec.Desired != v1alpha1.InService && d.DeletionTimestamp.IsZero() &&
			d.Status.SafeToPowerOff != nil && *d.Status.SafeToPowerOff &&
			meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionDrained)
	})
}

// contactLost says whether neither the agent nor the API server of a cluster answers.
func contactLost(c *v1alpha1.Cluster) bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonContactLost
}

// exporters are the members in which the service stands, or stood when they were last heard.
func (in *input) exporters() []memberView {
	if in.gone() {
		return nil
	}
	var out []memberView
	for _, m := range in.members {
		if m.facts != nil || in.remembered(m) {
			out = append(out, m)
		}
	}
	return out
}

// gone says whether every member that had the service is heard to the end and has it no more: then nobody is left to
// whom traffic could go, whatever the weights say.
func (in *input) gone() bool {
	for _, m := range in.members {
		if m.facts != nil || !m.whole && in.remembered(m) {
			return false
		}
	}
	return true
}

// remembered says whether a member without facts still counts: it is not heard, or weights may still name it.
func (in *input) remembered(m memberView) bool {
	if in.service == nil {
		return false
	}
	for _, c := range in.service.Status.Clusters {
		if c.Name == m.name {
			return !m.whole || c.Weight.ProvenHigh > 0 || c.Weight.Wanted > 0
		}
	}
	for _, c := range in.service.Spec.Clusters {
		if in.unseen() && c.Name == m.name {
			return !m.whole || c.Weight > 0
		}
	}
	return false
}

// rulesGoTo are the members whose istiods must hold the rules.
func (in *input) rulesGoTo() []memberView {
	return slices.DeleteFunc(slices.Clone(in.members), func(m memberView) bool { return !m.mesh || m.away })
}

// annotation returns the value of one annotation over all members, and whether they disagree. The first member by
// name wins, so that the outcome does not depend on who was heard first.
func (in *input) annotation(name string) (value string, differ bool) {
	found := false
	for _, m := range in.members {
		v, ok := m.facts.GetAnnotations()[name]
		if !ok {
			continue
		}
		if found && v != value {
			differ = true
		}
		if !found {
			value, found = v, true
		}
	}
	return strings.TrimSpace(value), differ
}

// policy returns the policy in force, and the reason why there is none.
func (in *input) policy() (v1alpha1.TrafficPolicySpec, *problem) {
	if v, _ := in.annotation(v1alpha1.AnnotationAdopt); v != "" {
		return v1alpha1.DefaultTrafficPolicySpec(), &problem{
			v1alpha1.ReasonNotSupported,
			"annotation " + v1alpha1.AnnotationAdopt + " asks for what this build does not serve: take it off the Service, and the rest is served",
		}
	}
	name, differ := in.annotation(v1alpha1.AnnotationTrafficPolicy)
	if differ {
		return v1alpha1.DefaultTrafficPolicySpec(), &problem{
			v1alpha1.ReasonBadAnnotation,
			"members name different traffic policies: set " + v1alpha1.AnnotationTrafficPolicy + " to one value in all of them",
		}
	}
	if name == "" {
		return v1alpha1.DefaultTrafficPolicySpec(), nil
	}
	p := in.policies[name]
	if p == nil {
		return v1alpha1.DefaultTrafficPolicySpec(), &problem{
			v1alpha1.ReasonBadAnnotation,
			v1alpha1.AnnotationTrafficPolicy + ` names "` + name + `", and namespace ` + in.key.Namespace + " on the hub has no TrafficPolicy of that name: make it, or correct the annotation",
		}
	}
	if unserved := p.Spec.Unserved(); len(unserved) > 0 {
		return p.Spec, &problem{v1alpha1.ReasonNotSupported, "TrafficPolicy " + name + " asks for what this build does not serve: " + strings.Join(unserved, ", ")}
	}
	return p.Spec, nil
}

// problem is why a service is not Ready.
type problem struct{ reason, message string }
