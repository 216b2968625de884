// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/echo"
	"github.com/weir-io/weir/e2e/rig"
)

// replicas of the application in each cluster.
const replicas = 3

// Limits of waits. A machine that is much slower than these cannot carry the
// demo.
const (
	readyLimit = 3 * time.Minute
	goneLimit  = time.Minute
)

// stage is a fleet with the application on it and clients around it.
type stage struct {
	fleet   *rig.Fleet
	options Options
	tell    *narrator
	// run tells the files of one attempt from those of another.
	run string

	places  []place
	ledgers map[string]string // by cluster
	outside []*outsider

	// product is weir; nil in the naive run.
	product *product.Product
	history history
	// kills, unprotected and naive tell which losses the account sets apart.
	kills       []load.Kill
	unprotected []load.Span
	naive       []load.Span
	// contention is how long proxies waited for a processor.
	contention contention
}

// newStage makes the folders of a run. It starts nothing.
func newStage(fleet *rig.Fleet, weir *product.Product, o Options, tell *narrator, attempt int) (*stage, error) {
	begin := time.Now()
	s := &stage{
		fleet: fleet, product: weir, options: o, tell: tell, history: history{since: begin},
		run:     fmt.Sprintf("demo-%d-%d", begin.Unix(), attempt),
		ledgers: map[string]string{},
	}
	for _, c := range fleet.Members() {
		dir, err := c.HostDir(s.run + "-ledger")
		if err != nil {
			return nil, err
		}
		s.ledgers[c.Name] = dir
		if c.Name == victim {
			continue
		}
		p := place{Client: c.Name + "-mesh", Cluster: c.Name}
		if p.Out, err = c.HostDir(s.run + "-out"); err != nil {
			return nil, err
		}
		if p.Control, err = c.HostDir(s.run + "-control"); err != nil {
			return nil, err
		}
		base := filepath.Join(fleet.RunDir, "outside", s.run, c.Name)
		s.places = append(s.places, p, place{
			Client: c.Name + "-outside", Cluster: c.Name, Outside: true,
			Out: filepath.Join(base, "out"), Control: filepath.Join(base, "control"),
		})
	}
	if o.Global {
		base := filepath.Join(fleet.RunDir, "outside", s.run, "global")
		s.places = append(s.places, place{
			Client: "global", Outside: true, Global: true, Out: filepath.Join(base, "out"), Control: filepath.Join(base, "control"),
		})
	}
	return s, nil
}

// deploy puts the application into every member, with the way in, and waits
// until it is ready.
func (s *stage) deploy(ctx context.Context, ending echo.Ending) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range s.fleet.Members() {
		g.Go(func() error {
			text, err := render("echo", server{Cluster: c.Name, Replicas: replicas, Ending: ending, LedgerDir: s.ledgers[c.Name]})
			if err != nil {
				return err
			}
			space, err := render("namespace", nil)
			if err != nil {
				return err
			}
			way, err := render("ingress", ingress{Services: s.services()})
			if err != nil {
				return err
			}
			if err := c.Apply(ctx, space, text, way); err != nil {
				return err
			}
			return c.WaitDeployment(ctx, namespace, serverName, readyLimit)
		})
	}
	return g.Wait()
}

// scale sets the application's replicas in a cluster and waits until they are
// ready, or gone.
func (s *stage) scale(ctx context.Context, cluster string, n int) error {
	c, err := s.fleet.Cluster(cluster)
	if err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
	_, err = client.AppsV1().Deployments(namespace).Patch(ctx, serverName, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("cluster %q: scale %s to %d: %w", cluster, serverName, n, err)
	}
	limit := readyLimit
	if n == 0 {
		limit = goneLimit
	}
	return c.WaitPodsReady(ctx, namespace, "app="+serverName, n, limit)
}

// powerOff takes a cluster away: its links first, then everything in it.
func (s *stage) powerOff(ctx context.Context, cluster string) error {
	c, err := s.fleet.Cluster(cluster)
	if err != nil {
		return err
	}
	return c.PowerOff(ctx)
}

// restore gives power back to every cluster that is off.
func (s *stage) restore(ctx context.Context) error {
	for _, c := range s.fleet.Members() {
		if !c.Off() {
			continue
		}
		s.tell.say("Power returns to %s.", c.Name)
		if err := c.PowerOn(ctx); err != nil {
			return err
		}
	}
	return nil
}

// clear gives power back to what an earlier run left without, takes what it left off the fleet, and waits until its pods are
// gone. Else they would end under the load of this one.
func (s *stage) clear(ctx context.Context) error {
	if err := s.restore(ctx); err != nil {
		return err
	}
	// Before the members' own: weir would make anew what is missing there.
	if err := s.clearWeb(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range s.fleet.Members() {
		g.Go(func() error {
			if err := c.Uncordon(ctx); err != nil {
				return err
			}
			if err := deleteAll(ctx, c); err != nil {
				return fmt.Errorf("cluster %q: delete the application: %w", c.Name, err)
			}
			return c.WaitPodsReady(ctx, namespace, "app", 0, goneLimit)
		})
	}
	return g.Wait()
}

// deleteAll deletes the application's Deployments, weir's copies among them. For about half a minute after its start an API
// server has not found the kind yet that weir's policies take their parameters from, and lets nobody touch what is weir's.
func deleteAll(ctx context.Context, c *rig.Cluster) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	var refused error
	err = poll(ctx, goneLimit, func() (bool, error) {
		err := client.AppsV1().Deployments(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		switch {
		case unresolved(err):
			refused = err
			return false, nil
		case err == nil, apierrors.IsNotFound(err):
			return true, nil
		}
		return false, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(err, refused)
	}
	return err
}

// unresolved says whether a policy refused something since the API server could make no sense of it. The text alone tells: the
// server gives no reason of its own for it, and so the reason is Invalid.
func unresolved(err error) bool {
	return err != nil && strings.Contains(err.Error(), "failed to configure policy")
}

// ledgerDirs are the folders of all ledgers, in order.
func (s *stage) ledgerDirs() []string {
	var dirs []string
	for _, dir := range s.ledgers {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}
