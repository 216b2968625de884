// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "slices"

// Binding returns the ResourceBinding whose workload is behind the service in every cluster that has pods of it, as
// NAMESPACE/NAME. It is empty where weir does not own all of them: none is of a binding, they are of several, or a
// workload of somebody else's is behind the service too.
func (gs *GlobalService) Binding() string {
	all := gs.Bindings()
	mixed := slices.ContainsFunc(gs.Status.Clusters, func(c GlobalServiceClusterStatus) bool { return len(c.Workloads) > 0 })
	if len(all) != 1 || mixed {
		return ""
	}
	return all[0]
}

// Bindings returns every ResourceBinding whose workload is behind the service in some cluster, sorted.
func (gs *GlobalService) Bindings() []string {
	var out []string
	for _, c := range gs.Status.Clusters {
		if c.Binding != "" {
			out = append(out, c.Binding)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
