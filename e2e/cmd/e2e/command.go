// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-io/weir/e2e/bench"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
)

// newCommand returns the program's commands; they do no more than call the packages.
func newCommand() *cobra.Command {
	var o rig.Options
	root := &cobra.Command{
		Use: "e2e", Short: "A fleet of real clusters on this machine", SilenceUsage: true, SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { o.Progress = progress(cmd.ErrOrStderr()) },
	}
	root.PersistentFlags().StringVar(&o.RunDir, "run-dir", "", "folder of the running fleet (default weir-rig/run in the cache folder)")
	root.PersistentFlags().StringVar(&o.CacheDir, "cache-dir", "", "folder of what is built once (default weir-rig in the user's cache folder)")
	root.AddCommand(upCommand(&o), downCommand(&o), buildCommand(&o), kubeconfigCommand(&o), loadCommand(&o), faultCommand(&o), auditCommand(&o), benchCommand(&o), demo.NewCommand(&o))
	return root
}

func upCommand(o *rig.Options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "up", Short: "Start a hub and members and leave them running", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := rig.Up(cmd.Context(), *o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The fleet runs in %[1]s.\nLook at it with %[1]s/kubectl --context c1 get pods -A; end it with e2e down.\n", f.RunDir)
			return err
		},
	}
	cmd.Flags().StringVar((*string)(&o.Topology), "topology", string(rig.Flat), `"flat": one network; "gateways": one for each member`)
	cmd.Flags().IntVar(&o.Members, "members", 3, "number of member clusters")
	return cmd
}

func downCommand(o *rig.Options) *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "End the fleet and remove all it left", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := rig.Attach(o.RunDir)
			if err != nil {
				return err
			}
			if err := f.Down(cmd.Context()); err != nil {
				return err
			}
			names := make([]string, 0, len(f.Clusters()))
			for _, c := range f.Clusters() {
				names = append(names, c.Name)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The fleet of %s (%s) is ended, and %s is removed.\n", strings.Join(names, ", "), f.Topology, f.RunDir)
			return err
		},
	}
}

func buildCommand(o *rig.Options) *cobra.Command {
	return &cobra.Command{
		Use: "build", Short: "Build into the cache what a fleet needs and start nothing", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return rig.Build(cmd.Context(), *o) },
	}
}

func kubeconfigCommand(o *rig.Options) *cobra.Command {
	return &cobra.Command{
		Use: "kubeconfig [CLUSTER]", Short: "Print the path of the fleet's kubeconfig, or of one cluster's", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := rig.Attach(o.RunDir)
			if err != nil {
				return err
			}
			path := f.Kubeconfig()
			if len(args) == 1 {
				c, err := f.Cluster(args[0])
				if err != nil {
					return err
				}
				path = c.Kubeconfig()
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
}

func loadCommand(o *rig.Options) *cobra.Command {
	programs := map[string]rig.Program{"app": rig.App, "weir": rig.Weir}
	return &cobra.Command{
		Use: "load app|weir", Short: "Build a program and import its image into all nodes", Args: cobra.ExactArgs(1),
		ValidArgs: []string{"app", "weir"},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, ok := programs[args[0]]
			if !ok {
				return fmt.Errorf("no program is called %q: want app or weir", args[0])
			}
			f, err := rig.Attach(o.RunDir)
			if err != nil {
				return err
			}
			return f.Load(cmd.Context(), p)
		},
	}
}

// progress prints each line with the time since the start.
func progress(w io.Writer) func(string) {
	begin := time.Now()
	return func(line string) {
		fmt.Fprintf(w, "%6.1fs  %s\n", time.Since(begin).Seconds(), line)
	}
}

func auditCommand(o *rig.Options) *cobra.Command {
	return &cobra.Command{
		Use: "audit", Short: "Prove on the running fleet that its parts are the real ones", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := rig.Attach(o.RunDir)
			if err != nil {
				return err
			}
			return f.Audit(cmd.Context(), func(c rig.Check) { fmt.Fprintln(cmd.OutOrStdout(), c) })
		},
	}
}

func benchCommand(o *rig.Options) *cobra.Command {
	return &cobra.Command{
		Use: "bench", Short: "Measure the hub on API servers that are started for it; a fleet that runs is ended", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			if err := onHub(ctx, *o, func(f *rig.Fleet) error { return bench.Bindings(ctx, f.Hub(), f.Repo(), out) }); err != nil {
				return err
			}
			return onHub(ctx, *o, func(f *rig.Fleet) error {
				program, err := f.Build(ctx, rig.Weir)
				if err != nil {
					return err
				}
				hub := f.Hub()
				ground := bench.Ground{API: hub, Kubeconfig: hub.Kubeconfig(), Program: program, Command: hub.InNamespace, Dial: hub.DialFrom}
				return bench.Views(ctx, ground, f.Repo(), out)
			})
		},
	}
}

// onHub measures on an API server of its own.
func onHub(ctx context.Context, o rig.Options, measure func(*rig.Fleet) error) (err error) {
	f, err := rig.UpHub(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Down(context.WithoutCancel(ctx))) }()
	return measure(f)
}
