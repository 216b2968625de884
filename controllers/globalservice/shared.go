// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

// shared tells which pods of a service in one member are those of other global services too. The fence is a label on the
// pod, so what one of them does to it happens to all: when a pod may be fenced is agreed on before a plan says so
// (controllers/shift), and here those whose plans do not say the same yet do not undo each other's work.
type shared struct {
	with   []string           // the other services, by name
	fenced map[types.UID]bool // pods of one of them whose plan fences pods there
	open   map[types.UID]bool // pods of one of them whose plan fences none
}

// share finds the shared pods of every member that tells of them.
func (in *input) share() {
	for i := range in.members {
		if m := &in.members[i]; m.facts != nil {
			m.shared = in.sharedOf(*m, m.facts)
		}
	}
}

// sharedOf finds which of these pods other global services are behind, as the member tells it.
func (in *input) sharedOf(m memberView, facts *pb.ServiceFacts) shared {
	out := shared{fenced: map[types.UID]bool{}, open: map[types.UID]bool{}}
	if m.snapshot == nil || len(in.neighbours) == 0 {
		return out
	}
	own := map[string]bool{}
	for _, p := range facts.GetPods() {
		own[p.GetUid()] = !p.GetTerminating()
	}
	for _, gs := range in.neighbours {
		fact, ok := m.snapshot.Services[types.NamespacedName{Namespace: gs.Namespace, Name: gs.Name}]
		if !ok || fact.Value.GetAnnotations()[v1alpha1.AnnotationGlobal] != "true" || disjoint(facts.GetSelector(), fact.Value.GetSelector()) {
			continue
		}
		pods := out.open
		if fencesIn(gs, m.name) {
			pods = out.fenced
		}
		found := false
		for _, p := range fact.Value.GetPods() {
			if own[p.GetUid()] {
				pods[types.UID(p.GetUid())], found = true, true
			}
		}
		if found {
			out.with = append(out.with, gs.Name)
		}
	}
	slices.Sort(out.with)
	return out
}

// disjoint says whether no pod can be behind both of two selectors: they want another value of one label.
func disjoint(a, b map[string]string) bool {
	for k, v := range a {
		if w, ok := b[k]; ok && v != w {
			return true
		}
	}
	return false
}

// fencesIn says whether a service's plan fences pods of a member.
func fencesIn(gs *v1alpha1.GlobalService, cluster string) bool {
	return slices.ContainsFunc(gs.Spec.Clusters, func(c v1alpha1.GlobalServiceCluster) bool {
		return c.Name == cluster && (c.FencedPods > 0 || c.NewPods == v1alpha1.PodsFenced)
	})
}

// voices is what the other services say of the fence on shared pods.
type voices struct {
	shared

	out bool // a drain wants the member out of service
}

// under hears the others' plans while a drain wants the member out of service, or while none does.
func (s shared) under(out bool) voices { return voices{s, out} }

func (v voices) any() bool { return len(v.with) > 0 }

// behind says whether another service is behind the pod.
func (v voices) behind(p *pb.Pod) bool {
	uid := types.UID(p.GetUid())
	return v.fenced[uid] || v.open[uid]
}

// otherwise says whether the fence of a pod stays as it is although this service's plan wants it otherwise. While a drain
// takes the member out, who fences first is right, since nobody does before all can do without the pod. Else who needs the
// pod is right: it comes back for all at once.
func (v voices) otherwise(p *pb.Pod, want bool) bool {
	uid := types.UID(p.GetUid())
	if want {
		return !v.out && v.open[uid]
	}
	return v.out && v.fenced[uid]
}
