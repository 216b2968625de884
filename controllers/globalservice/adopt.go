// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
)

// allPods stands for every pod of a member in a plan whose number of pods is not known.
const allPods = 1 << 20

// adopted is the plan that stands in the members, read back from their rules and pods: for a service whose record on the
// hub was lost. found is false where nothing of weir's stands, as with every new service.
func adopted(in *input) (plan v1alpha1.GlobalServiceSpec, found bool) {
	weights := readRules(in, &plan)
	clusters := map[string]v1alpha1.GlobalServiceCluster{}
	for name, weight := range weights {
		clusters[name] = v1alpha1.GlobalServiceCluster{Name: name, Weight: weight, NewPods: v1alpha1.PodsOpen}
	}
	fenced := false
	for _, m := range in.members {
		c, named := clusters[m.name]
		if !named && m.facts == nil {
			continue
		}
		c.Name, c.NewPods, c.FencedPods = m.name, v1alpha1.PodsOpen, 0
		n, generation := fencedPods(m.facts)
		if m.away {
			n = allPods // it was drained to its end, and cannot be asked
		}
		if n > 0 {
			c.NewPods, c.FencedPods, fenced = v1alpha1.PodsFenced, n, true
			c.DNS = v1alpha1.DNSWithdrawn // before it was fenced it had left the names
		}
		plan.FenceGeneration = max(plan.FenceGeneration, generation)
		clusters[m.name] = c
	}
	if fenced {
		plan.FenceGeneration = max(plan.FenceGeneration, 1)
	}
	plan.Clusters = slices.SortedFunc(maps.Values(clusters), func(a, b v1alpha1.GlobalServiceCluster) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return plan, fenced || plan.Phase != v1alpha1.RulesNone
}

// readRules reads phase, generation and weights into a plan from the rules of weir that stand.
func readRules(in *input, plan *v1alpha1.GlobalServiceSpec) (weights map[string]int32) {
	plan.Phase = v1alpha1.RulesNone
	for _, m := range in.members {
		for _, r := range rulesIn(m) {
			standing, ok := istio.ReadStanding(r)
			switch {
			case ok && (plan.Phase != v1alpha1.RulesWeights || standing.Generation > plan.Generation):
				// Of two that were written one after the other the newer is the plan; until it is proven in every member
				// nobody takes the older for gone.
				plan.Phase, plan.Generation, weights = v1alpha1.RulesWeights, standing.Generation, permille(in, standing.Percent)
			case r.Kind == "DestinationRule" && r.Ours() && plan.Phase == v1alpha1.RulesNone:
				plan.Phase, plan.Generation = v1alpha1.RulesDestinationRules, 1
			}
		}
	}
	return weights
}

// rulesIn reads the rules that a member's agent tells of.
func rulesIn(m memberView) []istio.Rule {
	var out []istio.Rule
	for _, r := range m.rules() {
		var object map[string]any
		if json.Unmarshal(r.GetObject(), &object) != nil {
			continue
		}
		if rule, err := istio.ParseRule(object); err == nil {
			out = append(out, rule)
		}
	}
	return out
}

// permille gives clusters their weights by the subsets that carry them. What the weights lack of a whole, because
// somebody wrote others or a subset has no cluster, is shared out in proportion.
func permille(in *input, percent map[string]int32) map[string]int32 {
	clusters := map[string]string{}
	for subset := range percent {
		clusters[subset] = strings.TrimPrefix(subset, istio.Prefix)
	}
	for _, m := range in.members {
		clusters[istio.SubsetName(m.name)] = m.name
	}
	var sum int32
	for _, p := range percent {
		sum += p
	}
	out, left, heaviest := map[string]int32{}, int32(1000), ""
	for _, subset := range slices.Sorted(maps.Keys(percent)) {
		name := clusters[subset]
		out[name] = percent[subset] * 1000 / sum
		left -= out[name]
		if heaviest == "" || out[name] > out[heaviest] {
			heaviest = name
		}
	}
	out[heaviest] += left
	return out
}

// fencedPods counts the ready pods that bear weir's fence, and finds the highest generation of it.
func fencedPods(facts *pb.ServiceFacts) (n int32, generation int64) {
	for _, p := range facts.GetPods() {
		if !p.GetFenced() || p.GetTerminating() {
			continue
		}
		generation = max(generation, p.GetFenceGeneration())
		if p.GetReady() {
			n++
		}
	}
	if generation == 0 {
		return 0, 0 // somebody else's label: weir numbers its own
	}
	return n, generation
}

// unheard names a member that may hold something of weir's and has not been heard to the end; empty for none.
func (in *input) unheard() string {
	for _, m := range in.members {
		if m.mesh && !m.whole && !m.away {
			return m.name
		}
	}
	return ""
}
