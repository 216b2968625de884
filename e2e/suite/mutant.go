// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/rig"
)

// sparseRate is that of a load with gaps, so that a pod that is still in use can be quiet for two scrapes.
const sparseRate = 1

// Mutant does the act with a hub that was built with a tag, which leaves out one of weir's checks, beside a load that is sparse.
// The act counts the requests that it sent and that were lost; none is a failure, since then the check guards nothing. The
// hub is whole again afterwards.
func (w *World) Mutant(t *testing.T, tag string, act func(context.Context, *Case) (lost int, err error)) {
	t.Helper()
	weir := w.Weir(t)
	if err := w.closeSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), restoreLimit)
		defer cancel()
		if err := replaceHub(ctx, w.fleet, weir, ""); err != nil {
			t.Errorf("bring the whole hub back: %v", err)
		}
	})
	session, err := demo.Open(t.Context(), w.fleet, weir, demo.Options{Rate: sparseRate, Seed: 1, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	if err := replaceHub(t.Context(), w.fleet, weir, tag); err != nil {
		t.Fatal(errors.Join(err, session.Close(context.WithoutCancel(t.Context()))))
	}
	c := &Case{Fleet: w.fleet, Weir: weir, Session: session, Logf: t.Logf}
	lost := 0
	_, err = c.run(t.Context(), func(ctx context.Context, c *Case) error {
		err := c.WaitAtRest(ctx)
		if err == nil {
			lost, err = act(ctx, c)
		}
		return err
	})
	if err := errors.Join(err, session.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
	if lost == 0 {
		t.Errorf("a build with the tag %s lost nothing: what it leaves out guards nothing here", tag)
	}
	t.Logf("%s: %d requests lost", tag, lost)
}

// replaceHub builds weir with a tag, or none, and has the hub run it.
func replaceHub(ctx context.Context, fleet *rig.Fleet, weir *product.Product, tag string) error {
	program := rig.Weir
	program.Tags = tag
	if err := fleet.Load(ctx, program); err != nil {
		return err
	}
	return errors.Join(weir.StopHub(ctx), weir.StartHub(ctx))
}

// LosePower powers a cluster off, calls while, and gives power back.
func (c *Case) LosePower(ctx context.Context, cluster string, while func(context.Context) error) error {
	m, err := c.Fleet.Cluster(cluster)
	if err != nil {
		return err
	}
	c.Undo(func(ctx context.Context) error {
		if !m.Off() {
			return nil
		}
		return errors.Join(m.PowerOn(ctx), c.Weir.WaitMember(ctx, cluster, 2*time.Minute))
	})
	if err := m.PowerOff(ctx); err != nil {
		return err
	}
	return while(ctx)
}
