// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/resview/agent"
	"github.com/weir-io/weir/resview/inventory"
	"github.com/weir-io/weir/resview/pb"
	noderecorder "github.com/weir-io/weir/resview/recorder"
	"github.com/weir-io/weir/resview/stream"
)

// agentOptions are the flags of weir agent.
type agentOptions struct {
	hub            string
	cluster        string
	tokenFile      string
	hubCAFile      string
	namespace      string
	podName        string
	podIP          string
	istioNamespace string
	rootNamespace  string
	metrics        string
	health         string
}

func newAgentCommand(log func() *slog.Logger) *cobra.Command {
	var o agentOptions
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent of a member: it reports, and proves what proxies use",
		Args:  noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runAgent(cmd.Context(), o, log())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.hub, "hub", "", "host:port of the hub")
	f.StringVar(&o.cluster, "cluster", "", "name of this member's Cluster object on the hub")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the join token; read until the agent has joined")
	f.StringVar(&o.hubCAFile, "hub-ca-file", "", "file with the hub's authority")
	f.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the agent's identity; default: POD_NAMESPACE")
	f.StringVar(&o.podName, "pod-name", os.Getenv("POD_NAME"), "name under which istiod lists the agent's canaries; default: POD_NAME")
	f.StringVar(&o.podIP, "pod-ip", os.Getenv("POD_IP"), "address of the agent's canaries; default: POD_IP")
	f.StringVar(&o.istioNamespace, "istio-namespace", "istio-system", "namespace of istiod")
	f.StringVar(&o.rootNamespace, "istio-root-namespace", "istio-system", "root namespace of the mesh")
	f.StringVar(&o.metrics, "metrics-address", ":8080", "address of /metrics")
	f.StringVar(&o.health, "health-address", ":8081", "address of /healthz and /readyz")
	return cmd
}

func (o agentOptions) validate() (netip.Addr, error) {
	for flag, value := range map[string]string{
		"hub": o.hub, "cluster": o.cluster, "hub-ca-file": o.hubCAFile, "namespace": o.namespace, "pod-name": o.podName,
	} {
		if value == "" {
			return netip.Addr{}, fmt.Errorf("--%s is empty", flag)
		}
	}
	ip, err := netip.ParseAddr(o.podIP)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("--pod-ip %q is no address: set POD_IP from the pod's status", o.podIP)
	}
	return ip, nil
}

func runAgent(ctx context.Context, o agentOptions, log *slog.Logger) error {
	ip, err := o.validate()
	if err != nil {
		return usage(err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the member's API server: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	klog.SetSlogLogger(log)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client of the member's API server: %w", err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: kube.EventsV1()})
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(clientgoscheme.Scheme, "weir-agent")
	a, err := newAgent(o, ip, config, kube, recorder, registry, log)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("start to record events: %w", err)
	}
	group.Go(func() error { return a.Run(ctx) })
	group.Go(func() error { return serve(ctx, o.metrics, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})) })
	group.Go(func() error { return serve(ctx, o.health, probes(a)) })
	return group.Wait()
}

func newAgent(o agentOptions, ip netip.Addr, config *rest.Config, kube kubernetes.Interface, told events.EventRecorder, registry prometheus.Registerer, log *slog.Logger) (*agent.Agent, error) {
	inv, err := inventory.New(inventory.Config{REST: config, IstioNamespace: o.istioNamespace, RootNamespace: o.rootNamespace, Log: log})
	if err != nil {
		return nil, err
	}
	nodes, err := noderecorder.New(noderecorder.Config{Kube: kube, Metrics: registry, Log: log})
	if err != nil {
		return nil, err
	}
	return agent.New(agent.Config{
		Inventory: inv, Nodes: nodes, Version: version, KubernetesVersion: func(ctx context.Context) string { return serverVersion(ctx, kube) }, Events: told, Metrics: registry, Log: log,
		Client: stream.ClientConfig{
			Hub: o.hub, Cluster: o.cluster,
			Vault: &agent.Vault{Client: kube, Namespace: o.namespace},
			HubCA: func() ([]byte, error) { return os.ReadFile(o.hubCAFile) },
			Token: func() (string, error) { return readToken(o.tokenFile) },
			APIServerHealthy: func(ctx context.Context) bool {
				return kube.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
			},
		},
		NewProver: func(m *pb.MemberFacts) (agent.Prover, error) {
			return prover.New(prover.Config{
				Cluster: inv, Credentials: &agent.Credentials{Client: kube, Namespace: o.istioNamespace}, Log: log,
				Place: canary.Place{
					Name: o.podName, Namespace: o.istioNamespace, IP: ip,
					ClusterID: m.GetIstioClusterId(), Network: m.GetNetwork(), Version: m.GetIstioVersion(),
				},
			})
		},
	})
}

// serverVersion asks the API server, and does not wait for one that is still starting.
func serverVersion(ctx context.Context, kube kubernetes.Interface) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	raw, err := kube.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err != nil || json.Unmarshal(raw, &info) != nil {
		return ""
	}
	return info.GitVersion
}

// readToken returns the join token; a file that is not there is no token.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	raw, err := os.ReadFile(path) //nolint:gosec // The path is the operator's choice.
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the join token: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

func probes(a *agent.Agent) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", probe(a.Healthy))
	mux.Handle("/readyz", probe(a.Ready))
	return mux
}

// probe answers with what a check says is wrong.
func probe(check func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
}

// serve answers until the context ends.
func serve(ctx context.Context, address string, handler http.Handler) error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	return nil
}
