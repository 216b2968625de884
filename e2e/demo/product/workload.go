// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Workload reads a FederatedDeployment.
func (p *Product) Workload(ctx context.Context, ns, name string) (v1alpha1.FederatedDeployment, error) {
	var d v1alpha1.FederatedDeployment
	return d, p.read(ctx, "federateddeployments", ns, name, &d)
}

// Binding reads the ResourceBinding of a FederatedDeployment.
func (p *Product) Binding(ctx context.Context, ns, name string) (v1alpha1.ResourceBinding, error) {
	d := v1alpha1.FederatedDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	var b v1alpha1.ResourceBinding
	return b, p.read(ctx, "resourcebindings", ns, d.BindingName(), &b)
}

// Scale sets how many replicas a FederatedDeployment has over all members.
func (p *Product) Scale(ctx context.Context, ns, name string, replicas int) error {
	client, err := p.fleet.Hub().Dynamic()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"spec":{"replicas":%d}}}}`, replicas)
	resource := client.Resource(resourceOf("federateddeployments")).Namespace(ns)
	if _, err := resource.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("scale %s/%s to %d: %w", ns, name, replicas, err)
	}
	return nil
}

// Member reads a Cluster.
func (p *Product) Member(ctx context.Context, name string) (v1alpha1.Cluster, error) {
	var c v1alpha1.Cluster
	return c, p.read(ctx, "clusters", "", name, &c)
}

// Undivided says what is missing until a federated workload stands as it was divided, and the traffic of the service before
// it with it; empty when it does.
func Undivided(d v1alpha1.FederatedDeployment, gs v1alpha1.GlobalService) string {
	ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
	own := d.Namespace + "/" + d.BindingName()
	switch {
	case ready == nil || d.Status.ObservedGeneration != d.Generation:
		return "its status is not of its newest generation"
	case ready.Status != metav1.ConditionTrue:
		return ready.Reason + ": " + ready.Message
	case gs.Binding() != own:
		return fmt.Sprintf("its service is not known to have its pods: it has those of %v", gs.Bindings())
	case gs.Status.ObservedGeneration != gs.Generation || gs.Status.Shift.Step != "Done":
		return "its traffic is at step " + gs.Status.Shift.Step + " " + gs.Status.Shift.Cluster
	}
	for _, row := range d.Status.Clusters {
		if row.Applied != row.Wanted || row.Ready != row.Wanted {
			return fmt.Sprintf("%s holds %d replicas, %d of them ready, and shall hold %d", row.Name, row.Applied, row.Ready, row.Wanted)
		}
	}
	return ""
}
