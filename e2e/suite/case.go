// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/rig"
)

// Limits of a case, of what brings the fleet back after it, and of a look at what went wrong.
const (
	caseLimit    = 5 * time.Minute
	restoreLimit = 4 * time.Minute
	pictureLimit = 30 * time.Second // of a fleet in which something is wrong
)

// Case is one act under load, at one attempt.
type Case struct {
	Fleet   *rig.Fleet
	Weir    *product.Product
	Session *demo.Session
	// Logf logs to the test.
	Logf func(format string, args ...any)

	undo []func(context.Context) error
}

// Case runs one act of a test under load, with a policy by which traffic moves in as few steps as can be. The act tells by its
// error what it found wrong. What was sent meanwhile must all be answered, and no POST executed twice.
func (w *World) Case(t *testing.T, act func(context.Context, *Case) error) {
	t.Helper()
	w.play(t, brisk, false, act)
}

// FederatedCase is [World.Case] with a workload that weir divides beside the application, under half of the load.
func (w *World) FederatedCase(t *testing.T, act func(context.Context, *Case) error) {
	t.Helper()
	w.play(t, brisk, true, act)
}

// StepwiseFederatedCase is [World.FederatedCase] at the pace of [World.StepwiseCase].
func (w *World) StepwiseFederatedCase(t *testing.T, act func(context.Context, *Case) error) {
	t.Helper()
	w.play(t, stepwise, true, act)
}

// StepwiseCase is [World.Case] with a policy by which traffic moves in several steps, so that there is a middle for things to
// happen in.
func (w *World) StepwiseCase(t *testing.T, act func(context.Context, *Case) error) {
	t.Helper()
	w.play(t, stepwise, false, act)
}

func (w *World) play(t *testing.T, pace v1alpha1.ShiftPace, federated bool, act func(context.Context, *Case) error) {
	t.Helper()
	session := w.load(t, federated)
	if err := w.setPace(t.Context(), pace); err != nil {
		t.Fatal(err)
	}
	for attempt := 1; ; attempt++ {
		c := &Case{Fleet: w.fleet, Weir: w.weir.value, Session: session, Logf: t.Logf}
		account, err := c.run(t.Context(), act)
		switch {
		case len(account.Starved) == 0:
			t.Logf("%s. %s", load.Verdict(account.Lost, account.Sent), load.Bound(account.Lost, account.Sent))
			if err := errors.Join(err, verdict(account)); err != nil {
				t.Fatal(err)
			}
			return
		case attempt == 1:
			t.Logf("The machine was too busy for %s. This proves nothing; the test is run once more. It found: %v", strings.Join(account.Starved, ", "), err)
		default:
			t.Fatalf("the machine was too busy for %s, twice: this proves nothing; run the test again with less beside it", strings.Join(account.Starved, ", "))
		}
	}
}

// run does the act, brings the fleet back, and settles what was sent meanwhile.
func (c *Case) run(ctx context.Context, act func(context.Context, *Case) error) (load.Account, error) {
	begin := time.Now()
	acting, cancel := context.WithTimeout(ctx, caseLimit)
	err := act(acting, c)
	cancel()
	if err != nil {
		looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), pictureLimit)
		c.Logf("%s", c.picture(looking))
		cancel()
		err = fmt.Errorf("%w\n%s", err, c.Weir.Brief(ctx, demo.Namespace, c.services()...))
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	err = errors.Join(err, c.restore(back))
	account, aerr := c.Session.Account(back, begin, time.Now())
	return account, errors.Join(err, aerr)
}

// services are the names of those that the load calls.
func (c *Case) services() []string {
	if c.Session.Federated() {
		return []string{demo.Service, demo.Web}
	}
	return []string{demo.Service}
}

// Undo has something done when the act is over, however it ended; the last one first.
func (c *Case) Undo(f func(context.Context) error) { c.undo = append(c.undo, f) }

// restore undoes what the act did, undrains every cluster, and waits for the old split.
func (c *Case) restore(ctx context.Context) error {
	var all []error
	for _, undo := range slices.Backward(c.undo) {
		all = append(all, undo(ctx))
	}
	drains, err := c.Weir.Drains(ctx)
	all = append(all, err)
	for _, d := range drains {
		if d.DeletionTimestamp.IsZero() {
			all = append(all, c.Weir.Undrain(ctx, d.Spec.ClusterName, func(string) {}))
		}
	}
	all = append(all, c.Until(ctx, shiftLimit, "every drain to be gone", func(ctx context.Context) (string, error) {
		left, err := c.Weir.Drains(ctx)
		if err != nil || len(left) == 0 {
			return "", err
		}
		return left[0].Name + " is there", nil
	}))
	if err := c.WaitAtRest(ctx); err != nil {
		all = append(all, err)
	}
	if c.Session.Federated() {
		all = append(all, c.Session.WaitDivided(ctx))
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("bring the fleet back: %w", err)
	}
	return nil
}

// verdict is what an account says against the act.
func verdict(a load.Account) error {
	if complaint := a.Complaint(10); complaint != "" {
		return errors.New(complaint)
	}
	return nil
}
