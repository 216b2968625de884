// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-io/weir/e2e/rig"
)

// faults are the verbs that take a cluster and nothing else.
var faults = map[string]func(context.Context, *rig.Cluster) error{
	"power-off":        func(ctx context.Context, c *rig.Cluster) error { return c.PowerOff(ctx) },
	"power-on":         func(ctx context.Context, c *rig.Cluster) error { return c.PowerOn(ctx) },
	"cut-link":         func(ctx context.Context, c *rig.Cluster) error { return c.CutLink(ctx) },
	"join-link":        func(ctx context.Context, c *rig.Cluster) error { return c.JoinLink(ctx) },
	"kill-istiod":      func(ctx context.Context, c *rig.Cluster) error { _, err := c.KillIstiod(ctx); return err },
	"kill-ingress":     func(ctx context.Context, c *rig.Cluster) error { _, err := c.KillIngress(ctx); return err },
	"kill-eastwest":    func(ctx context.Context, c *rig.Cluster) error { _, err := c.KillEastWest(ctx); return err },
	"kill-apiserver":   func(ctx context.Context, c *rig.Cluster) error { return c.Kill(ctx, rig.RoleAPIServer) },
	"start-apiserver":  func(ctx context.Context, c *rig.Cluster) error { return c.Start(ctx, rig.RoleAPIServer) },
	"freeze-apiserver": func(_ context.Context, c *rig.Cluster) error { return c.Freeze(rig.RoleAPIServer) },
	"thaw-apiserver":   func(_ context.Context, c *rig.Cluster) error { return c.Thaw(rig.RoleAPIServer) },
}

func faultCommand(o *rig.Options) *cobra.Command {
	cmd := &cobra.Command{Use: "fault", Short: "Hurt a running fleet, or undo it"}
	for verb, do := range faults {
		cmd.AddCommand(&cobra.Command{
			Use: verb + " CLUSTER", Short: strings.ReplaceAll(verb, "-", " "), Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				c, err := attached(o, args[0])
				if err != nil {
					return err
				}
				return do(cmd.Context(), c)
			},
		})
	}
	cmd.AddCommand(
		killCommand(o, "kill-pods", (*rig.Cluster).KillPods),
		killCommand(o, "kill-apps", (*rig.Cluster).KillApps),
		holdCommand(o, "hold-agent", (*rig.Cluster).HoldAgent),
		holdCommand(o, "release-agent", (*rig.Cluster).ReleaseAgent),
	)
	return cmd
}

func killCommand(o *rig.Options, verb string, kill func(*rig.Cluster, context.Context, string, string) (rig.Killed, error)) *cobra.Command {
	return &cobra.Command{
		Use: verb + " CLUSTER NAMESPACE SELECTOR", Short: strings.ReplaceAll(verb, "-", " ") + " that match a label selector", Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := attached(o, args[0])
			if err != nil {
				return err
			}
			k, err := kill(c, cmd.Context(), args[1], args[2])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "killed %s within %s\n", strings.Join(k.Pods, " "), k.Gone.Sub(k.Began))
			return err
		},
	}
}

func holdCommand(o *rig.Options, verb string, hold func(*rig.Cluster, string, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " CLUSTER NAMESPACE POD", Short: strings.ReplaceAll(verb, "-", " ") + " of one sidecar", Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := attached(o, args[0])
			if err != nil {
				return err
			}
			return hold(c, args[1], args[2])
		},
	}
}

func attached(o *rig.Options, cluster string) (*rig.Cluster, error) {
	f, err := rig.Attach(o.RunDir)
	if err != nil {
		return nil, err
	}
	return f.Cluster(cluster)
}
