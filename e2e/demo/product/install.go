// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v4/pkg/kube"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/e2e/rig"
)

// Namespace is where weir lives in every cluster.
const Namespace = "weir-system"

// nodePort is where agents reach the hub, on its node's address.
const nodePort = 30443

// namesPort is where the hub answers names, on its node's address.
const namesPort = 30053

// Zone is that of the names which the hub answers.
const Zone = "global.test"

// Names is the address at which the hub answers names.
func (p *Product) Names() string {
	return net.JoinHostPort(p.fleet.Hub().NodeIP(), strconv.Itoa(namesPort))
}

// image is what the rig gives to every node: no node pulls anything.
func image() map[string]any {
	repository, tag, _ := strings.Cut(rig.WeirImage, ":")
	return map[string]any{"repository": repository, "tag": tag, "pullPolicy": "Never"}
}

// kubectlWeir is the user's program. It runs on no node.
var kubectlWeir = rig.Program{Module: ".", Package: "./cmd/kubectl-weir", Path: "/kubectl-weir"}

// Product is weir on a fleet. It may be used by many goroutines.
type Product struct {
	fleet *rig.Fleet
	// program is the user's kubectl-weir.
	program string
}

// Install installs the hub, registers every member and installs its agent, and
// returns when the hub hears them all. What is installed already is brought to
// this source's program and chart. Say is told in one line each what goes on.
// Namespaces are those of the global services to come: the hub needs them.
func Install(ctx context.Context, fleet *rig.Fleet, say func(string), namespaces ...string) (*Product, error) {
	// Helm as a library names itself by the program it is in; another program could not upgrade what this one installed.
	kube.ManagedFieldsManager = "helm"
	// Its loader tells, for each release, that the chart's definitions are a link into the source.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	say("weir's image and kubectl weir are built.")
	program, err := fleet.Build(ctx, kubectlWeir)
	if err != nil {
		return nil, err
	}
	if err := fleet.Load(ctx, rig.Weir); err != nil {
		return nil, err
	}
	chart, err := chartDir(ctx)
	if err != nil {
		return nil, err
	}
	p := &Product{fleet: fleet, program: program}
	hub := fleet.Hub()
	for _, name := range namespaces {
		if err := hub.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n"); err != nil {
			return nil, err
		}
	}
	say("helm install weir, in the hub.")
	if err := install(ctx, hub, release{name: "weir", chart: chart, values: hubValues(hub.NodeIP())}); err != nil {
		return nil, err
	}
	for _, c := range fleet.Members() {
		say("kubectl weir join " + c.Name + ", and helm install weir-agent there.")
	}
	g, gctx := errgroup.WithContext(ctx)
	for _, c := range fleet.Members() {
		g.Go(func() error { return p.join(gctx, c, chart) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return p, p.waitMembers(ctx, installLimit)
}

// collectorPort is where on the hub's node it sends its traces. Nobody need listen there.
const collectorPort = "4317"

// Collector is the address in the hub's network that it sends its traces to.
func (p *Product) Collector() string { return net.JoinHostPort(p.fleet.Hub().NodeIP(), collectorPort) }

// hubValues are a user's values for the hub.
func hubValues(address string) map[string]any {
	return map[string]any{
		"mode": "hub", "image": image(),
		"hub": map[string]any{
			"advertiseAddress": fmt.Sprintf("%s:%d", address, nodePort),
			"service":          map[string]any{"type": "NodePort", "nodePort": nodePort},
			// Caches forget within a second, so that a drain waits for little else.
			"dns": map[string]any{
				"zone": Zone, "ttl": "1s", "service": map[string]any{"type": "NodePort", "nodePort": namesPort},
			},
			"otlp": map[string]any{"endpoint": net.JoinHostPort(address, collectorPort), "transport": "Insecure"},
		},
	}
}

// join registers a member and installs its agent with the values that join
// wrote.
func (p *Product) join(ctx context.Context, c *rig.Cluster, chart string) error {
	file := filepath.Join(p.fleet.RunDir, c.Name+"-values.yaml")
	if _, err := p.run(ctx, "join", c.Name, "--member-context", c.Name, "--values", file); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cluster %q: values of join: %w", c.Name, err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(content, &values); err != nil {
		return fmt.Errorf("cluster %q: values of join: %w", c.Name, err)
	}
	values["image"] = image()
	return install(ctx, c, release{name: "weir-agent", chart: chart, values: values})
}

// run runs kubectl weir against the hub, from where an operator stands.
func (p *Product) run(ctx context.Context, args ...string) (string, error) {
	cmd := p.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl weir %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.String(), nil
}

// command is kubectl weir with the hub's kubeconfig.
func (p *Product) command(ctx context.Context, args ...string) *exec.Cmd {
	argv := append([]string{p.program, "--kubeconfig", p.fleet.Kubeconfig(), "--context", p.fleet.Hub().Name}, args...)
	return p.fleet.Outside(ctx, argv...)
}

// chartDir finds the chart in weir's source, which the working directory's
// module is part of or refers to.
func chartDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/weir-io/weir").Output()
	if err != nil {
		return "", fmt.Errorf("find weir's source (run this inside its repository): %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "charts", "weir"), nil
}

// poll asks until there is nothing left to wait for, it fails, or the limit has
// passed; the last answer says what was missing.
func poll(ctx context.Context, limit time.Duration, missing func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		what, err := missing(ctx)
		if err != nil || what == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), what)
		case <-tick.C:
		}
	}
}
