// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/mesh/istio"
)

// gatherOthers reads the other services: which there are, which are in the same namespace, and what their rules already
// add to a proxy.
func (r *Reconciler) gatherOthers(ctx context.Context, in *input) error {
	var list v1alpha1.GlobalServiceList
	if err := r.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("list global services: %w", err)
	}
	for i := range list.Items {
		gs := &list.Items[i]
		in.all = append(in.all, client.ObjectKeyFromObject(gs))
		if gs.Namespace == in.key.Namespace && gs.Name != in.key.Name {
			in.neighbours = append(in.neighbours, gs)
		}
		if client.ObjectKeyFromObject(gs) == in.key || gs.Status.Cost == nil || !hasRules(gs.Spec) {
			continue
		}
		in.others.EnvoyClusters += gs.Status.Cost.EnvoyClusters
		in.others.Endpoints += gs.Status.Cost.Endpoints
	}
	return nil
}

// costOf is what the rules of this service add to a proxy in the member where they add most.
func costOf(in *input, out outcome) *v1alpha1.ProxyCost {
	var worst *v1alpha1.ProxyCost
	for _, m := range in.rulesGoTo() {
		b := istio.Cost(renderInput(in, out.spec, out.policy, out.ports, m))
		if worst == nil || int32(b.Clusters) > worst.EnvoyClusters { //nolint:gosec // bounded by ports times clusters.
			worst = &v1alpha1.ProxyCost{EnvoyClusters: int32(b.Clusters), Endpoints: int32(b.Endpoints), Bytes: b.Bytes} //nolint:gosec // as above.
		}
	}
	return worst
}

// overBudget refuses rules that would take a proxy beyond the budget. Rules that stand are left: taking them away
// would move traffic.
func overBudget(in *input, cost v1alpha1.ProxyCost) *problem {
	clusters, endpoints := in.others.EnvoyClusters+cost.EnvoyClusters, in.others.Endpoints+cost.Endpoints
	if clusters <= in.config.BudgetClusters && endpoints <= in.config.BudgetEndpoints {
		return nil
	}
	return &problem{v1alpha1.ReasonBudgetExceeded, fmt.Sprintf(
		"with this service each proxy would hold %s (budget %d) and %s (budget %d): name the calling namespaces in TrafficPolicy.spec.clients.namespaces, or raise the hub's budget",
		hub.Count(clusters, "more Envoy cluster"), in.config.BudgetClusters, hub.Count(endpoints, "more endpoint"), in.config.BudgetEndpoints)}
}
