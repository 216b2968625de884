// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-io/weir/api/v1alpha1"
)

// namedAtMost is how many clusters of a preference are told one by one.
const namedAtMost = 10

// preferenceLine tells by what replicas are divided.
func preferenceLine(p *v1alpha1.ReplicaPreference) string {
	if p == nil {
		return "no ReplicaSchedulingPreference names it: all members weigh the same"
	}
	parts := []string{weightsLine(p)}
	if b := bounds(p.MinReplicas, p.MaxReplicas); b != "" {
		parts = append(parts, b+" each")
	}
	var single []string
	for _, name := range slices.Sorted(maps.Keys(p.Clusters)) {
		if c := p.Clusters[name]; c.MinReplicas != nil || c.MaxReplicas != nil {
			single = append(single, name+" "+bounds(c.MinReplicas, c.MaxReplicas))
		}
	}
	if len(single) > 0 {
		parts = append(parts, fewOf(single))
	}
	return strings.Join(parts, "; ")
}

// weightsLine tells the weights that were given, and what all others have.
func weightsLine(p *v1alpha1.ReplicaPreference) string {
	weights := map[string]v1alpha1.ClusterWeight{}
	maps.Copy(weights, p.Weight)
	for name, c := range p.Clusters {
		if c.Weight != nil {
			weights[name] = *c.Weight
		}
	}
	others := "1"
	if p.Weight != nil {
		others = "0"
	}
	if len(weights) == 0 {
		return "weight " + others + " each"
	}
	given := make([]string, 0, len(weights))
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		given = append(given, fmt.Sprintf("%s %d", name, weights[name]))
	}
	return "weight " + fewOf(given) + ", others " + others
}

func bounds(least, most *int32) string {
	var parts []string
	if least != nil {
		parts = append(parts, fmt.Sprintf("at least %d", *least))
	}
	if most != nil {
		parts = append(parts, fmt.Sprintf("at most %d", *most))
	}
	return strings.Join(parts, ", ")
}

func fewOf(list []string) string {
	if more := len(list) - namedAtMost; more > 0 {
		return strings.Join(list[:namedAtMost], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

// strangersOf are the clusters that a preference names and that are not registered.
func (f *fleet) strangersOf(p *v1alpha1.ReplicaPreference) []string {
	if p == nil {
		return nil
	}
	named := map[string]bool{}
	for name := range p.Weight {
		named[name] = true
	}
	for name := range p.Clusters {
		named[name] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(named)), func(name string) bool { return f.cluster(name) != nil })
}
