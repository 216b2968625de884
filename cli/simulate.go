// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weir-io/weir/cli/manifest"
	"github.com/weir-io/weir/sched/simulate"
)

// ExitUnplaced ends simulate when replicas have no place.
const ExitUnplaced = 3

type simulateOptions struct {
	files     []string
	without   []string
	rebalance bool
	output    string
}

// NewSimulate returns the verb simulate, which needs no hub and no kubeconfig.
func NewSimulate() *cobra.Command {
	o := &simulateOptions{}
	cmd := &cobra.Command{
		Use:   "simulate -f FILE|DIRECTORY...",
		Short: "Say where replicas would go, from manifests alone",
		Long: `Say where replicas would go, from manifests alone, without a cluster.

It reads Clusters, a ClusterView for each (its nodes; this kind is for files only), FederatedDeployments and
ReplicaSchedulingPreferences, from YAML or JSON, several documents or a List in a file. A ResourceBinding says what
stands now. Other kinds are named and passed over. -f - reads standard input; of a directory, its .yaml, .yml and .json
files are read, and no folder in it.

It exits with 0 when every replica has a place, 3 when some have none (the reasons say why), and 2 when the command line
or a file is wrong; faults are told as FILE:LINE: FIELD: MESSAGE.`,
		Example: `  weir simulate -f config/samples
  weir simulate -f fleet.yaml --without north-1 -o json
  kubectl get clusters.federation.weir.io -o yaml | weir simulate -f - -f workloads.yaml -f views.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &ExitError{ExitUsage, fmt.Errorf("simulate takes no argument %q: give files with -f", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runSimulate(cmd, o) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "filename", "f", nil, "file or directory of manifests, or - for standard input; may be given several times")
	f.StringArrayVar(&o.without, "without", nil, "cluster to take out: what stands there goes elsewhere; may be given several times")
	f.BoolVar(&o.rebalance, "rebalance", false, "move what stands to where the weights want it, as the hub does once in a rebalancePeriod, instead of only what has to move")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &ExitError{ExitUsage, err} })
	return cmd
}

func runSimulate(cmd *cobra.Command, o *simulateOptions) error {
	if o.output != "text" && o.output != "json" {
		return &ExitError{ExitUsage, fmt.Errorf("--output %q: want text or json", o.output)}
	}
	if len(o.files) == 0 {
		return &ExitError{ExitUsage, errors.New("nothing to read: give files with -f")}
	}
	files, err := readUntilStopped(cmd.Context(), o.files, cmd.InOrStdin())
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	set, err := manifest.Read(cmd.Context(), files)
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	for _, p := range set.Passed {
		fmt.Fprintf(cmd.ErrOrStderr(), "passed over: %s (%d)\n", p.Kind, p.Count)
	}
	for _, note := range set.Notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
	}
	set.Question.Without, set.Question.Rebalance = o.without, o.rebalance
	answer, err := simulate.Run(&set.Question)
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	if o.output == "json" {
		if err := printJSON(cmd.OutOrStdout(), answer); err != nil {
			return err
		}
	} else {
		printAnswer(cmd.OutOrStdout(), answer)
	}
	if n := answer.Unplaced(); n > 0 {
		return &ExitError{ExitUnplaced, fmt.Errorf("%s without a place: the reasons say why", many(n, "replica"))}
	}
	return nil
}

// readUntilStopped reads as readManifests does, and no longer than the context lasts: standard input, or a pipe, may stay
// silent, and nothing else ends a read of it. Such a read is left behind, for the program ends then.
func readUntilStopped(ctx context.Context, paths []string, stdin io.Reader) ([]manifest.File, error) {
	type outcome struct {
		files []manifest.File
		err   error
	}
	read := make(chan outcome, 1)
	go func() {
		files, err := readManifests(paths, stdin)
		read <- outcome{files, err}
	}()
	select {
	case got := <-read:
		return got.files, got.err
	case <-ctx.Done():
		return nil, fmt.Errorf("stopped while reading manifests: %w", ctx.Err())
	}
}

// readManifests reads files, of a directory those with manifests in them. The order of files is the order of names.
func readManifests(paths []string, stdin io.Reader) ([]manifest.File, error) {
	var files []manifest.File
	for _, path := range paths {
		if path == "-" {
			data, err := bounded(stdin)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			files = append(files, manifest.File{Name: "standard input", Data: data})
			continue
		}
		names, err := manifestsIn(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := readManifest(name)
			if err != nil {
				return nil, err
			}
			files = append(files, manifest.File{Name: name, Data: data})
		}
	}
	return files, nil
}

func readManifest(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the user names the file.
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // It was read only.
	data, err := bounded(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// bounded reads at most one byte more than is taken, so that who takes it can tell: a path may be that of something without an
// end.
func bounded(from io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(from, manifest.MaxSize+1))
}

// manifestsIn are the files that a path stands for.
func manifestsIn(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.Type()&fs.ModeDir == 0 && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
			names = append(names, filepath.Join(path, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no .yaml, .yml or .json file in this directory", path)
	}
	return names, nil
}

// printAnswer writes the answer for people.
func printAnswer(w io.Writer, answer *simulate.Answer) {
	if len(answer.Bindings) == 0 {
		fmt.Fprintln(w, "no FederatedDeployment to place")
	}
	for i := range answer.Bindings {
		b := &answer.Bindings[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s/%s: %d of %s placed\n", b.Namespace, b.Name, b.Wanted-b.Unplaced, many(b.Wanted, "replica"))
		printPlaces(w, b)
		for _, r := range b.Reasons {
			fmt.Fprintf(w, "  %s: %s: %s\n", orAll(r.Cluster), r.Code, r.Message)
		}
	}
}

// printPlaces writes a row for each cluster that holds replicas, or held some.
func printPlaces(w io.Writer, b *simulate.Binding) {
	names := places(b)
	if len(names) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  CLUSTER\tREPLICAS\tBEFORE\tVIEW")
	for _, name := range names {
		view := "-"
		if version, ok := b.ViewVersions[name]; ok {
			view = strconv.FormatInt(version, 10)
		}
		fmt.Fprintf(table, "  %s\t%d\t%d\t%s\n", name, b.Replicas[name], b.Before[name], view)
	}
	_ = table.Flush()
}

// places are the clusters that hold replicas, or held some.
func places(b *simulate.Binding) []string {
	names := map[string]bool{}
	for name := range b.Replicas {
		names[name] = true
	}
	for name, n := range b.Before {
		if n > 0 {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func orAll(cluster string) string {
	if cluster == "" {
		return "all"
	}
	return cluster
}
