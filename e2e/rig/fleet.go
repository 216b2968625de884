// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-io/weir/e2e/rig/process"
)

// Fleet is a running hub with its members. It may be used by many goroutines. It runs on when the program that started it
// ends; [Attach] joins it again and [Fleet.Down] ends it.
type Fleet struct {
	// Topology is how the members' pods reach each other.
	Topology Topology
	// RunDir is the folder that holds all the fleet has.
	RunDir string

	options  Options
	table    process.Table
	bin      string
	istio    string
	ca       []byte
	meshRoot *authority // known while the fleet starts
	clusters []*Cluster // the hub first
}

// record is what [Attach] needs to know.
type record struct {
	Topology Topology `json:"topology"`
	Members  int      `json:"members"`
	Bin      string   `json:"bin"`
	Istio    string   `json:"istio"`
	Repo     string   `json:"repo"`
}

func newFleet(o Options, bin, istio string) *Fleet {
	f := &Fleet{
		Topology: o.Topology, RunDir: o.RunDir, options: o, bin: bin, istio: istio,
		table: process.Table{Dir: filepath.Join(o.RunDir, "processes")},
	}
	for _, p := range places(o.Members) {
		f.clusters = append(f.clusters, &Cluster{Name: p.name, fleet: f, place: p, dir: filepath.Join(o.RunDir, p.name)})
	}
	return f
}

// Up starts a fleet and returns when all nodes are Ready and all istiods and gateways serve. It first removes what an earlier
// run left. When it fails it leaves what it started, for a look at the logs; the next Up or [Reap] removes that.
func Up(ctx context.Context, o Options) (*Fleet, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := preflight(ctx, o); err != nil {
		return nil, err
	}
	b := builder{o: o}
	p, err := b.products(ctx)
	if err != nil {
		return nil, err
	}
	if err := Reap(ctx, o.RunDir); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(o.RunDir); err != nil {
		return nil, fmt.Errorf("clear the run directory: %w", err)
	}
	if err := b.prune(p); err != nil {
		return nil, err
	}
	f := newFleet(o, p.bin, p.istio)
	begin := time.Now()
	if err := f.write(p.store); err != nil {
		return nil, err
	}
	if err := makeNetwork(ctx, o.Topology, places(o.Members)); err != nil {
		return nil, err
	}
	if err := f.boot(ctx); err != nil {
		return nil, err
	}
	o.Progress(fmt.Sprintf("control planes and nodes ready after %s", time.Since(begin).Round(time.Second)))
	if err := f.mesh(ctx); err != nil {
		return nil, err
	}
	if err := f.Load(ctx, App); err != nil {
		return nil, err
	}
	mib, count, err := f.Memory()
	if err != nil {
		return nil, err
	}
	o.Progress(fmt.Sprintf("istiods and gateways ready after %s (to be within 60 s on two idle cores); %d processes take %d MiB (to be within %d)",
		time.Since(begin).Round(time.Second), count, mib, memoryLimit))
	return f, nil
}

// products are what the cache holds for this version.
type products struct{ bin, store, istio string }

func (b builder) products(ctx context.Context) (products, error) {
	key, err := b.key()
	if err != nil {
		return products{}, err
	}
	var p products
	if p.bin, err = b.programs(ctx, key); err != nil {
		return p, err
	}
	if p.istio, err = b.istioDir(ctx); err != nil {
		return p, err
	}
	p.store, err = b.store(ctx, key, p.bin, p.istio)
	return p, err
}

// Build fills the cache and starts nothing.
func Build(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if err := preflight(ctx, o); err != nil {
		return err
	}
	_, err = builder{o: o}.products(ctx)
	return err
}

// write writes the keys, configurations and disks of all clusters. Without a store they have no nodes.
func (f *Fleet) write(store string) error {
	ca, err := newAuthority("weir rig CA", nil)
	if err != nil {
		return err
	}
	f.ca = ca.pem
	if f.meshRoot, err = newAuthority("weir rig mesh root", nil); err != nil {
		return err
	}
	for _, c := range f.clusters {
		if err := os.MkdirAll(c.logDir(), 0o755); err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
		if err := writeKeys(c.dir, c.place, ca); err != nil {
			return fmt.Errorf("cluster %q: %w", c.Name, err)
		}
		if store == "" {
			continue
		}
		if err := c.writeNode(store); err != nil {
			return err
		}
	}
	if err := f.writeAccess(); err != nil {
		return err
	}
	data, err := json.Marshal(record{Topology: f.Topology, Members: len(f.clusters) - 1, Bin: f.bin, Istio: f.istio, Repo: f.options.Repo})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.RunDir, "fleet.json"), data, 0o644)
}

// boot starts all clusters at once and waits until their nodes are Ready.
func (f *Fleet) boot(ctx context.Context) error {
	if err := favourPods("/sys/fs/cgroup"); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range f.clusters {
		g.Go(func() error { return c.boot(ctx) })
	}
	return g.Wait()
}

// boot plugs a cluster in and starts all it runs.
func (c *Cluster) boot(ctx context.Context) error {
	begin := time.Now()
	if err := joinNetwork(ctx, c.place); err != nil {
		return fmt.Errorf("cluster %q: %w", c.Name, err)
	}
	if err := c.startAPIServer(ctx); err != nil {
		return err
	}
	for _, role := range []string{RoleControllerManager, RoleScheduler} {
		if err := c.start(role); err != nil {
			return err
		}
	}
	if err := c.startNode(ctx); err != nil {
		return err
	}
	return c.waitNode(ctx, begin)
}

// mesh joins the members into one mesh and waits until their istiods and gateways serve.
func (f *Fleet) mesh(ctx context.Context) error {
	members := f.Members()
	remotes := make([]string, len(members))
	g, gctx := errgroup.WithContext(ctx)
	for i, c := range members {
		g.Go(func() error {
			if err := c.installBase(gctx); err != nil {
				return err
			}
			var err error
			remotes[i], err = c.remoteSecret(gctx)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	g, gctx = errgroup.WithContext(ctx)
	for i, c := range members {
		var others []string
		others = append(others, remotes[:i]...)
		others = append(others, remotes[i+1:]...)
		g.Go(func() error {
			if err := c.installIstiod(gctx, others); err != nil {
				return err
			}
			return c.installGateways(gctx)
		})
	}
	return g.Wait()
}

// Attach joins a fleet that runs. An empty runDir is the usual one.
func Attach(runDir string) (*Fleet, error) {
	o, err := Options{RunDir: runDir, Repo: "/"}.withDefaults()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(o.RunDir, "fleet.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no fleet in %s: start one first", o.RunDir)
	}
	if err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("attach: fleet.json: %w", err)
	}
	o.Topology, o.Members, o.Repo = r.Topology, r.Members, r.Repo
	f := newFleet(o, r.Bin, r.Istio)
	if f.ca, err = os.ReadFile(f.clusters[0].file("ca.pem")); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	return f, nil
}

// Ensure joins the fleet that runs when it is as the options ask and none of its clusters is off, else it starts one. It says
// whether it started one, so that who started it can end it.
func Ensure(ctx context.Context, o Options) (f *Fleet, started bool, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, false, err
	}
	if f, err := Attach(o.RunDir); err == nil && f.Topology == o.Topology && len(f.Members()) == o.Members && f.allOn() {
		return f, false, nil
	}
	f, err = Up(ctx, o)
	return f, err == nil, err
}

// allOn says whether each cluster has its network and a living node.
func (f *Fleet) allOn() bool {
	for _, c := range f.clusters {
		holder, err := f.table.Lookup(c.record(roleHolder))
		if err != nil || !holder.Running() || c.Off() {
			return false
		}
	}
	return true
}

// Down ends the fleet and removes its run directory. It fails when anything of the fleet is left on the machine.
func (f *Fleet) Down(ctx context.Context) error {
	if err := Reap(ctx, f.RunDir); err != nil {
		return err
	}
	if err := os.RemoveAll(f.RunDir); err != nil {
		return fmt.Errorf("remove the run directory: %w", err)
	}
	return remains(f.RunDir, f.bin)
}

// Repo is the root of weir's source that the fleet was started from.
func (f *Fleet) Repo() string { return f.options.Repo }

// Clusters returns the hub and the members, in that order.
func (f *Fleet) Clusters() []*Cluster { return f.clusters }

// Members returns the members in the order of their names.
func (f *Fleet) Members() []*Cluster { return f.clusters[1:] }

// Hub returns the cluster in which weir's hub is meant to run.
func (f *Fleet) Hub() *Cluster { return f.clusters[0] }

// Cluster returns a cluster by its name. An unknown name is an error that lists the known ones.
func (f *Fleet) Cluster(name string) (*Cluster, error) {
	var known []string
	for _, c := range f.clusters {
		if c.Name == name {
			return c, nil
		}
		known = append(known, c.Name)
	}
	return nil, fmt.Errorf("no cluster is called %q; there are %v", name, known)
}
