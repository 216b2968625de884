// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/load"
)

// shrinkLimit is how long a partial shrink may take: each cluster in turn may wait for the limit of quiet, five minutes.
const shrinkLimit = 20 * time.Minute

// adviceLimit is how long weir may take to find what there is to say about new pods.
const adviceLimit = 2 * time.Minute

// PartialShrink takes a third of the replicas away in every cluster at once, of a workload that exits as soon as it is told to,
// and prints what that loses. Across networks connections stay with their pod, fenced or not, so that some may: it is a
// measure of what an application that does not outlive its sidecar's drain costs, and no bound.
func (w *World) PartialShrink(t *testing.T) {
	t.Helper()
	weir := w.Weir(t)
	if err := w.closeSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	session, err := demo.Open(t.Context(), w.fleet, weir, demo.Options{Rate: loadRate, Seed: 1, Out: t.Output(), Federated: true, Hasty: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &Case{Fleet: w.fleet, Weir: weir, Session: session, Logf: t.Logf}
	account, err := c.shrink(t.Context(), t.Name())
	if err != nil {
		t.Logf("%s", c.picture(t.Context()))
	}
	if err := errors.Join(err, session.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
	if len(account.Starved) > 0 {
		t.Fatalf("the machine was too busy for %s: this measures nothing; run the test again with less beside it", strings.Join(account.Starved, ", "))
	}
}

// shrink scales the workload down, waits until that has come about, and tells what it took, what it cost, and the advice.
func (c *Case) shrink(ctx context.Context, name string) (load.Account, error) {
	advice, err := c.advice(ctx)
	if err != nil {
		return load.Account{}, err
	}
	begin := time.Now()
	const left = demo.WebReplicas * 2 / 3
	if err := c.Weir.Scale(ctx, demo.Namespace, demo.Web, left); err != nil {
		return load.Account{}, err
	}
	taken := map[time.Time]v1alpha1.StepRecord{}
	err = c.Until(ctx, shrinkLimit, "the shrink", func(ctx context.Context) (string, error) {
		gs, err := c.Web(ctx)
		if err != nil {
			return "", err
		}
		for _, s := range Taken(gs, begin, "ReplicasDown", "") {
			taken[s.StartedAt.Time] = s
		}
		d, err := c.Weir.Workload(ctx, demo.Namespace, demo.Web)
		if err != nil {
			return "", err
		}
		if d.Status.Replicas != left {
			return fmt.Sprintf("%d replicas are asked for; %s", d.Status.Replicas, waits(gs)), nil
		}
		return product.Undivided(d, gs), nil
	})
	if err != nil {
		return load.Account{}, err
	}
	account, err := c.Session.Account(ctx, begin, time.Now())
	if err != nil {
		return account, err
	}
	c.Logf("%s: %s; %d POSTs twice. %d replicas went in %s", name, load.Verdict(account.Lost, account.Sent), account.Duplicated,
		demo.WebReplicas-left, time.Since(begin).Round(time.Second))
	for _, s := range taken {
		c.Logf("%s: %d replicas left, quiet %s", s.Cluster, *s.Replicas, s.Quiet)
		if s.Weights == nil || s.Weights.Level != v1alpha1.ProofProven || s.Fence == nil || s.Fence.Level != v1alpha1.ProofProven {
			err = errors.Join(err, fmt.Errorf("%s: replicas went on weights %+v and fence %+v", s.Cluster, s.Weights, s.Fence))
		}
	}
	if complaint := account.Complaint(20); complaint != "" {
		c.Logf("%s", complaint)
	}
	c.Logf("what kubectl weir check advises:\n%s", strings.Join(advice, "\n"))
	return account, err
}

// advice are the lines of kubectl weir check about the workload's Service. There must be some: its pods have too little time.
func (c *Case) advice(ctx context.Context) ([]string, error) {
	var lines []string
	err := c.Until(ctx, adviceLimit, "advice about "+demo.Web, func(ctx context.Context) (string, error) {
		text, err := c.Weir.Check(ctx)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, demo.Namespace+"/"+demo.Web) && strings.Contains(line, "terminationGracePeriodSeconds") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		if len(lines) == 0 {
			return "kubectl weir check tells nothing of the kind", nil
		}
		return "", nil
	})
	return lines, err
}
