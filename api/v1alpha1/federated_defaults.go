// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// How replicas are divided where no ReplicaSchedulingPreference says otherwise.
const (
	DefaultClusterWeight   = 1
	DefaultMinReplicas     = 1
	DefaultRebalancePeriod = 5 * time.Minute
)

// ClusterShare is what a preference says of one cluster, with nothing left open.
type ClusterShare struct {
	// Weight of the cluster, against the weights of the others. 0: nothing but Min.
	Weight int32
	// Min is the floor under its share.
	Min int32
	// Max is the ceiling over it; nil: none. It beats Min.
	Max *int32
}

// Share is what the preference says of one cluster; of a nil preference, what holds where there is none.
func (p *ReplicaPreference) Share(cluster string) ClusterShare {
	out := ClusterShare{Weight: DefaultClusterWeight, Min: DefaultMinReplicas}
	if p == nil {
		return out
	}
	if len(p.Weight) > 0 {
		out.Weight = int32(p.Weight[cluster])
	}
	if p.MinReplicas != nil {
		out.Min = *p.MinReplicas
	}
	out.Max = p.MaxReplicas
	own := p.Clusters[cluster]
	if own.Weight != nil {
		out.Weight = int32(*own.Weight)
	}
	if own.MinReplicas != nil {
		out.Min = *own.MinReplicas
	}
	if own.MaxReplicas != nil {
		out.Max = own.MaxReplicas
	}
	return out
}

// Period is how often the division is looked at again without a reason; of a nil preference, the default.
func (p *ReplicaPreference) Period() time.Duration {
	if p == nil || p.RebalancePeriod == nil || p.RebalancePeriod.Duration <= 0 {
		return DefaultRebalancePeriod
	}
	return p.RebalancePeriod.Duration
}

// Wanted is how many replicas the template wants, over all members together.
func (d *FederatedDeployment) Wanted() int32 {
	if r := d.Spec.Template.Spec.Replicas; r != nil {
		return *r
	}
	return DefaultReplicas
}

// BindingName is the name of the ResourceBinding of the federated workload: deployment-NAME.
func (d *FederatedDeployment) BindingName() string { return "deployment-" + d.Name }
