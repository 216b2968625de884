// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/rig"
)

// struck is the cluster that the reflex is measured on. No client runs in it.
const struck = "c2"

// rest is how long the fleet is left alone after a blow, until proxies have forgotten it.
const rest = 30 * time.Second

// blow is one row of the reflex's table.
type blow struct {
	demo.Strike
	// may says which losses the reflex is not there for, besides what was in flight.
	may func(load.Failure) bool
}

// nothing is what may be lost where proxies notice by a connection that is reset or refused.
func nothing(load.Failure) bool { return false }

// answered are POSTs that a sidecar answered itself, as its application was gone. Nobody else can tell such an answer from the
// application's own, after which a POST may not be sent again.
func answered(f load.Failure) bool {
	return f.Status == http.StatusServiceUnavailable && strings.HasSuffix(f.Class, "/once")
}

// anything is where the row is measured only: without power nothing resets a connection, and what is sent on one is gone.
func anything(load.Failure) bool { return true }

// Reflex strikes a cluster in every way that proxies must bear before any controller acts, and prints what each cost. Besides
// what was in flight only that may be lost which a row says.
func (w *World) Reflex(t *testing.T) {
	t.Helper()
	weir := w.Weir(t)
	if err := w.closeSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	session, err := demo.Open(t.Context(), w.fleet, weir, demo.Options{Rate: demoRate, Seed: 1, Out: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	table := []string{fmt.Sprintf("%-28s %6s %10s %6s %s", "blow", "sent", "in flight", "lost", "by ingress, apart")}
	for _, b := range blows(w.topology) {
		a, err := w.reflex(t, session, b)
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		table = append(table, fmt.Sprintf("%-28s %6d %10d %6d %d of %d", b.Name, a.Sent, a.InFlight, a.Lost, a.Unprotected.Lost, a.Unprotected.Sent))
		a.Failures = slices.DeleteFunc(a.Failures, b.may)
		if len(a.Failures) > 0 || a.Duplicated > 0 {
			t.Errorf("%s: %s", b.Name, a.Complaint(10))
		}
	}
	t.Logf("the reflex, %s:\n%s", w.topology, strings.Join(table, "\n"))
}

// reflex does one blow, and once more if the machine was too busy for it.
func (w *World) reflex(t *testing.T, session *demo.Session, b blow) (load.Account, error) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		begin := time.Now()
		if err := session.Strike(t.Context(), b.Strike); err != nil {
			return load.Account{}, err
		}
		a, err := session.Account(t.Context(), begin, time.Now())
		switch {
		case err != nil:
			return a, err
		case len(a.Starved) == 0:
			return a, wait(t.Context(), rest)
		case attempt == 2:
			return a, fmt.Errorf("the machine was too busy for %s, twice", strings.Join(a.Starved, ", "))
		}
		t.Logf("%s: the machine was too busy for %s; once more", b.Name, strings.Join(a.Starved, ", "))
		if err := wait(t.Context(), rest); err != nil {
			return a, err
		}
	}
}

// wait lets time pass, for there is no sign to wait for.
func wait(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ready waits until a cluster is whole again after something in it was killed. The API may not know yet that it was.
func ready(ctx context.Context, c *rig.Cluster, _ time.Time) error {
	if err := wait(ctx, 5*time.Second); err != nil {
		return err
	}
	return c.WaitAllReady(ctx, 2*time.Minute)
}

// blows are the rows for a topology.
func blows(topology rig.Topology) []blow {
	app := "app=" + demo.Service
	kill := func(name string, do func(context.Context, *rig.Cluster) (rig.Killed, error), may func(load.Failure) bool) blow {
		return blow{Strike: demo.Strike{Name: name, Cluster: struck, Do: do, Back: ready}, may: may}
	}
	pods := func(ctx context.Context, c *rig.Cluster) (rig.Killed, error) {
		return c.KillPods(ctx, demo.Namespace, app)
	}
	all := []blow{
		kill("pods, sidecars first", pods, nothing),
		kill("applications, sidecars live", func(ctx context.Context, c *rig.Cluster) (rig.Killed, error) {
			return c.KillApps(ctx, demo.Namespace, app)
		}, answered),
	}
	if topology == rig.Gateways {
		gateway := func(ctx context.Context, c *rig.Cluster) (rig.Killed, error) { return c.KillEastWest(ctx) }
		all = append(all, kill("east-west gateway", gateway, nothing), kill("gateway and pods", inTurn(gateway, pods), nothing))
	}
	cut := func(ctx context.Context, c *rig.Cluster) (rig.Killed, error) {
		k := rig.Killed{Began: time.Now()}
		err := c.PowerOff(ctx)
		k.Gone = time.Now()
		return k, err
	}
	return append(all, blow{may: anything, Strike: demo.Strike{
		Name: "power of the cluster", Cluster: struck, Do: cut,
		Back: func(ctx context.Context, c *rig.Cluster, _ time.Time) error {
			return errors.Join(wait(ctx, rest), c.PowerOn(ctx))
		},
	}})
}

// inTurn strikes several things, one at once after the other.
func inTurn(does ...func(context.Context, *rig.Cluster) (rig.Killed, error)) func(context.Context, *rig.Cluster) (rig.Killed, error) {
	return func(ctx context.Context, c *rig.Cluster) (rig.Killed, error) {
		var all rig.Killed
		for _, do := range does {
			k, err := do(ctx, c)
			if err != nil {
				return all, err
			}
			if all.Began.IsZero() {
				all.Began = k.Began
			}
			all.Gone, all.Pods = k.Gone, slices.Concat(all.Pods, k.Pods)
		}
		return all, nil
	}
}
