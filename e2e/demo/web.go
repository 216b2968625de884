// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/load/echo"
)

// The workload that weir divides, beside the one that each cluster has for itself: nine replicas over all clusters.
const (
	webName     = "web"
	webReplicas = 9
)

// Seconds that a pod has to end: the usual, and no more than Istio's sidecar
// takes to drain.
const (
	grace      = 30
	hastyGrace = 5
)

// movedLimit is how long a division may take to come about: pods that start, and proofs.
const movedLimit = 3 * time.Minute

// services are those that clients send to.
func (s *stage) services() []string {
	if s.options.Federated {
		return []string{serverName, webName}
	}
	return []string{serverName}
}

// deployWeb gives the hub the federated workload and its Service, and waits until all of it runs and its traffic is held.
func (s *stage) deployWeb(ctx context.Context) error {
	f := federated{Replicas: webReplicas, Policy: s.options.Policy, Ending: echo.Drain, Grace: grace}
	if s.options.Hasty {
		f.Ending, f.Grace = echo.Exit, hastyGrace
	}
	for _, c := range s.fleet.Members() {
		f.Members = append(f.Members, memberPart{Cluster: c.Name, LedgerDir: s.ledgers[c.Name]})
	}
	text, err := render("web", f)
	if err != nil {
		return err
	}
	if err := s.fleet.Hub().Apply(ctx, text); err != nil {
		return err
	}
	if err := s.product.WaitService(ctx, namespace, webName, heldLimit); err != nil {
		return err
	}
	return s.waitDivided(ctx)
}

// clearWeb takes the federated workload and its Service off the hub, and with them their copies off members.
func (s *stage) clearWeb(ctx context.Context) error {
	if s.product == nil {
		return nil
	}
	text, err := render("web", federated{})
	if err != nil {
		return err
	}
	return s.fleet.Hub().Delete(ctx, text)
}

// waitReleased waits until weir has let go of the Service's traffic. A drain would count it until then.
func (s *stage) waitReleased(ctx context.Context) error {
	err := poll(ctx, goneLimit, func() (bool, error) {
		_, err := s.product.Service(ctx, namespace, webName)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("the traffic of %s was not let go of: %w", webName, err)
	}
	return nil
}

// waitDivided waits until the workload's replicas are where the division wants them, and so is its traffic.
func (s *stage) waitDivided(ctx context.Context) error {
	return s.waitDividedSo(ctx, func(v1alpha1.FederatedDeployment) string { return "" })
}

// waitDividedSo waits as waitDivided does, and for a division of which lacks says nothing.
func (s *stage) waitDividedSo(ctx context.Context, lacks func(v1alpha1.FederatedDeployment) string) error {
	missing := ""
	err := poll(ctx, movedLimit, func() (bool, error) {
		gs, err := s.webService(ctx)
		if err != nil {
			return false, err
		}
		d, err := s.product.Workload(ctx, namespace, webName)
		if err != nil {
			return false, err
		}
		missing = cmp.Or(lacks(d), product.Undivided(d, gs))
		return missing == "", nil
	})
	if err != nil {
		return fmt.Errorf("the replicas of %s are not where they shall be: %w: %s", webName, err, missing)
	}
	return nil
}

// webService reads the federated workload's GlobalService and keeps its steps.
func (s *stage) webService(ctx context.Context) (v1alpha1.GlobalService, error) {
	gs, err := s.product.Service(ctx, namespace, webName)
	if err == nil {
		s.history.keep(gs)
	}
	return gs, err
}

// tellDivision says in one line where the federated workload's replicas are.
func (s *stage) tellDivision(ctx context.Context) error {
	if !s.options.Federated {
		return nil
	}
	if _, err := s.webService(ctx); err != nil {
		return err
	}
	d, err := s.product.Workload(ctx, namespace, webName)
	if err == nil {
		s.tell.say("%s", division(d))
	}
	return err
}

// division says where a workload's replicas are.
func division(d v1alpha1.FederatedDeployment) string {
	parts := make([]string, 0, len(d.Status.Clusters))
	for _, c := range d.Status.Clusters {
		part := fmt.Sprintf("%s %d", c.Name, c.Ready)
		if c.Ready != c.Wanted {
			part += fmt.Sprintf(" (wanted %d)", c.Wanted)
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("Ready replicas of %s/%s, of %d: %s.", d.Namespace, d.Name, d.Wanted(), strings.Join(parts, ", "))
}
