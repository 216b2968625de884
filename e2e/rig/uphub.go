// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"os"
)

// UpHub starts the hub's API server with its store, and no node and no member: for what is measured on a real API server and
// needs no pod. A fleet that runs in the same folder is ended first, as by [Up]; [Fleet.Down] ends this one.
func UpHub(ctx context.Context, o Options) (*Fleet, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := preflight(ctx, o); err != nil {
		return nil, err
	}
	b := builder{o: o}
	key, err := b.key()
	if err != nil {
		return nil, err
	}
	bin, err := b.programs(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := Reap(ctx, o.RunDir); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(o.RunDir); err != nil {
		return nil, fmt.Errorf("clear the run directory: %w", err)
	}
	o.Members = 0
	f := newFleet(o, bin, "")
	if err := f.write(""); err != nil {
		return nil, err
	}
	hub := f.Hub()
	if err := makeNetwork(ctx, o.Topology, []place{hub.place}); err != nil {
		return nil, err
	}
	if err := joinNetwork(ctx, hub.place); err != nil {
		return nil, fmt.Errorf("cluster %q: %w", hub.Name, err)
	}
	return f, hub.startAPIServer(ctx)
}
