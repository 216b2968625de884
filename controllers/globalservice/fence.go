// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/pb"
)

// Labels of the fence.
const (
	LabelFence           = member.LabelFence
	LabelFenceGeneration = member.LabelFenceGeneration
)

// podLabel is one change of a pod's fence.
type podLabel struct {
	name       string
	uid        types.UID
	key, value string // an empty value takes the label off
	owned      bool   // of a workload whose replicas weir changes
	serves     bool   // it is ready, so that istiods push its endpoints when the label changes
}

const annotationDeletionCost = member.AnnotationDeletionCost

// annotations are what the pod gets together with the fence: where weir asks for fewer replicas, the fenced ones go.
func (l podLabel) annotations() map[string]string {
	switch {
	case !l.owned || l.key != LabelFence:
		return nil
	case l.value == "":
		return map[string]string{annotationDeletionCost: ""}
	}
	return map[string]string{annotationDeletionCost: member.FencedCost}
}

// ownedBy tells which workloads of a Service weir owns, by Kind/name.
func ownedBy(facts *pb.ServiceFacts) map[string]bool {
	out := map[string]bool{}
	for _, w := range facts.GetWorkloads() {
		if w.GetBinding() != "" {
			out[w.GetKind()+"/"+w.GetName()] = true
		}
	}
	return out
}

// fenceOf says which pods of a member must change for its plan: those that receive least go first, and a pod that
// bears the fence keeps it as long as any does. Services that share pods go by their names alone, so that all of them choose
// the same. says tells of such pods what the others want of the fence.
func fenceOf(facts *pb.ServiceFacts, plan v1alpha1.GlobalServiceCluster, generation int64, says voices) []podLabel {
	pods := inTurn(facts, says.any())
	wanted := toFence(pods, plan)
	owned := ownedBy(facts)
	var out []podLabel
	for i, p := range pods {
		want := wanted[i]
		label := func(key, value string) podLabel {
			return podLabel{p.GetName(), types.UID(p.GetUid()), key, value, owned[p.GetWorkload()], p.GetReady()}
		}
		switch {
		case want != p.GetFenced() && says.otherwise(p, want):
		case want && (!p.GetFenced() || p.GetFenceGeneration() < generation):
			out = append(out,
				label(LabelFence, "true"),
				label(LabelFenceGeneration, strconv.FormatInt(generation, 10)))
		case !want && p.GetFenced():
			out = append(out, label(LabelFence, ""), label(LabelFenceGeneration, ""))
		case !want && generation == 0 && p.GetFenceGeneration() > 0 && !says.behind(p):
			out = append(out, label(LabelFenceGeneration, ""))
		}
	}
	return out
}

// inTurn are the pods of a Service, those to be fenced first coming first; byName: whatever they receive.
func inTurn(facts *pb.ServiceFacts, byName bool) []*pb.Pod {
	pods := slices.DeleteFunc(slices.Clone(facts.GetPods()), func(p *pb.Pod) bool { return p.GetTerminating() })
	rate := func(p *pb.Pod) float64 {
		if byName {
			return 0
		}
		return p.GetLoad().GetRate()
	}
	slices.SortFunc(pods, func(a, b *pb.Pod) int {
		return cmp.Or(-boolCompare(a.GetFenced(), b.GetFenced()), cmp.Compare(rate(a), rate(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	return pods
}

// toFence says of each pod, those to be fenced first coming first, whether it shall bear the fence.
func toFence(pods []*pb.Pod, plan v1alpha1.GlobalServiceCluster) []bool {
	out := make([]bool, len(pods))
	whole := plan.NewPods == v1alpha1.PodsFenced && plan.FencedPods >= readyPods(pods)
	left := plan.FencedPods
	for i, p := range pods {
		switch {
		case whole:
			out[i] = true
		case plan.Fence == v1alpha1.FenceKeep:
			out[i] = p.GetFenced()
		case p.GetReady() && left > 0:
			out[i] = true
			left--
		}
	}
	return out
}

// renewing says whether the fence is to be proven anew: the lease on the one before has lapsed.
func renewing(spec v1alpha1.GlobalServiceSpec, before v1alpha1.ProofStatus) bool {
	return spec.FenceGeneration > 0 && before.Lease == v1alpha1.LeaseLapsed && before.Generation < spec.FenceGeneration
}

// marked says whether an order changes the mark of a pod that serves, so that istiods push the service's endpoints.
func marked(o order) bool {
	return slices.ContainsFunc(o.labels, func(l podLabel) bool { return l.serves && l.key == LabelFenceGeneration && l.value != "" })
}

// markAnew has each member mark a pod where the fence is to be proven anew and no order changes a mark.
func markAnew(orders []order, spec v1alpha1.GlobalServiceSpec, before v1alpha1.ProofStatus) {
	if !renewing(spec, before) || slices.ContainsFunc(orders, marked) {
		return
	}
	for i := range orders {
		if m := orders[i].member; m.seen && planned(spec, m.name) {
			orders[i].labels = append(orders[i].labels, mark(m.facts, spec.FenceGeneration)...)
		}
	}
}

// planned says whether a plan names a member.
func planned(spec v1alpha1.GlobalServiceSpec, cluster string) bool {
	return slices.ContainsFunc(spec.Clusters, func(c v1alpha1.GlobalServiceCluster) bool { return c.Name == cluster })
}

// unmarked says whether the fence is to be proven anew, and of the marks that are due for it none was written. Where none is due,
// since no pod serves, there is nothing to push and to wait for.
func (o *outcome) unmarked(failed map[string]error) bool {
	if !renewing(o.spec, o.base.Fence) {
		return false
	}
	due := slices.DeleteFunc(slices.Clone(o.orders), func(x order) bool { return !marked(x) })
	return len(due) > 0 && (o.blocked() || !slices.ContainsFunc(due, func(x order) bool { return failed[x.member.name] == nil }))
}

// mark has one pod of a member bear the generation where no pod is due to: a plan may fence nothing, or a member whose pods are
// gone or that is off, or pods that another service keeps, or has marked with a higher count of its own. Any changed label on
// a pod that serves makes istiods push the service's present endpoints.
func mark(facts *pb.ServiceFacts, generation int64) []podLabel {
	var least *pb.Pod
	for _, p := range facts.GetPods() {
		if p.GetReady() && !p.GetTerminating() && (least == nil || p.GetFenceGeneration() < least.GetFenceGeneration()) {
			least = p
		}
	}
	if least == nil {
		return nil
	}
	value := strconv.FormatInt(max(generation, least.GetFenceGeneration()+1), 10)
	return []podLabel{{name: least.GetName(), uid: types.UID(least.GetUid()), key: LabelFenceGeneration, value: value, serves: true}}
}

// wantedOut says whether a drain keeps a member out of service, or takes it out.
func (in *input) wantedOut(cluster string) bool {
	return slices.ContainsFunc(in.drains, func(d v1alpha1.ClusterDrain) bool {
		return d.Spec.ClusterName == cluster && d.Status.Goal == v1alpha1.GoalDrain
	})
}

// leaveNoFence orders the fence off pods of a Service that is global no longer: nobody else would ever take it off. While
// a drain keeps the member out of service it stays: who powers the member off was told that nothing is sent there.
func (in *input) leaveNoFence(o *order) {
	if o.member.leftover == nil || !o.member.seen {
		return
	}
	if o.fence = in.wantedOut(o.member.name); o.fence {
		return
	}
	owned := ownedBy(o.member.leftover)
	shared := in.sharedOf(o.member, o.member.leftover)
	for _, p := range o.member.leftover.GetPods() {
		if shared.under(false).behind(p) {
			continue // who is still global takes off what it does not want
		}
		for _, key := range []string{LabelFence, LabelFenceGeneration} {
			o.labels = append(o.labels, podLabel{name: p.GetName(), uid: types.UID(p.GetUid()), key: key, owned: owned[p.GetWorkload()]})
		}
	}
}

func readyPods(pods []*pb.Pod) int32 {
	var n int32
	for _, p := range pods {
		if p.GetReady() && !p.GetTerminating() {
			n++
		}
	}
	return n
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
