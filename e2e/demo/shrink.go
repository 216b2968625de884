// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-io/weir/api/v1alpha1"
)

// shrunk is the cluster that loses capacity, and evicted how many of its replicas lose their place by it.
const (
	shrunk  = "c3"
	evicted = 2
)

// shrink takes away most of the room that the federated workload has in a cluster, as one does who takes a node out of use
// there, and waits until the replicas have moved. Then the node is given back.
func shrink(ctx context.Context, s *stage) error {
	c, err := s.fleet.Cluster(shrunk)
	if err != nil {
		return err
	}
	if err := c.Cordon(ctx); err != nil {
		return err
	}
	pods, err := c.Evict(ctx, namespace, "app="+webName, evicted)
	if err != nil {
		return errors.Join(err, c.Uncordon(context.WithoutCancel(ctx)))
	}
	s.tell.say("  evicted: %s", strings.Join(pods, ", "))
	if err := s.waitShrunk(ctx); err != nil {
		return errors.Join(err, c.Uncordon(context.WithoutCancel(ctx)))
	}
	if err := c.Uncordon(ctx); err != nil {
		return err
	}
	return s.tellDecision(ctx)
}

// waitShrunk waits until the cluster is wanted to hold no more than what is left there, and that has come about.
func (s *stage) waitShrunk(ctx context.Context) error {
	left := webReplicas/int32(len(s.fleet.Members())) - evicted
	return s.waitDividedSo(ctx, func(d v1alpha1.FederatedDeployment) string {
		for _, row := range d.Status.Clusters {
			if row.Name == shrunk && row.Wanted > left {
				return fmt.Sprintf("%s is wanted to hold %d", shrunk, row.Wanted)
			}
		}
		return ""
	})
}

// tellDecision says how the workload is divided now, by which event, and why clusters get less than their part.
func (s *stage) tellDecision(ctx context.Context) error {
	b, err := s.product.Binding(ctx, namespace, webName)
	if err != nil {
		return err
	}
	for _, line := range decision(b) {
		s.line(line)
	}
	return nil
}

// decision gives the lines that tell the decision in force.
func decision(b v1alpha1.ResourceBinding) []string {
	if len(b.Status.History) == 0 {
		return []string{"nothing is decided yet"}
	}
	last := b.Status.History[len(b.Status.History)-1]
	parts := make([]string, 0, len(b.Spec.Clusters))
	for _, c := range b.Spec.Clusters {
		parts = append(parts, fmt.Sprintf("%s %d", c.Name, c.Replicas))
	}
	lines := []string{fmt.Sprintf("decided by %s: %s", last.Trigger, strings.Join(parts, ", "))}
	for _, r := range last.Reasons {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", r.Cluster, r.Code, r.Message))
	}
	return lines
}
