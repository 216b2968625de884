// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched/adapter"
	"github.com/weir-io/weir/sched/filter"
)

// admitted says what a placement lets a cluster hold of a kind. Whether the cluster is healthy, in service or seen makes no
// difference: a copy is not taken away for that.
func admitted(p *v1alpha1.Placement, c *v1alpha1.Cluster) filter.Outcome {
	request := adapter.Request(&v1alpha1.ResourceBindingSpec{Placement: *p})
	view := adapter.Cluster(c)
	fields := map[string]string{}
	if view.Region != "" {
		fields[filter.Region] = view.Region
	}
	if view.Zone != "" {
		fields[filter.Zone] = view.Zone
	}
	outcome, _, _ := filter.Judge(&request.Where, &filter.Cluster{
		Name: c.Name, Fields: fields, Labels: view.Labels, Taints: view.Taints, Seen: true,
	}, true)
	return outcome
}
