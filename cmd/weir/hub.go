// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/binding"
	"github.com/weir-io/weir/controllers/cluster"
	"github.com/weir-io/weir/controllers/drain"
	"github.com/weir-io/weir/controllers/election"
	"github.com/weir-io/weir/controllers/globalservice"
	"github.com/weir-io/weir/controllers/identity"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/controllers/policy"
	"github.com/weir-io/weir/controllers/schedule"
	"github.com/weir-io/weir/controllers/servicedns"
	"github.com/weir-io/weir/controllers/shift"
	"github.com/weir-io/weir/controllers/status"
	"github.com/weir-io/weir/controllers/sync"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/controllers/unjoin"
	"github.com/weir-io/weir/resview/stream"
)

// hubOptions are the flags of weir hub.
type hubOptions struct {
	namespace      string
	listen         string
	advertise      string
	metrics        string
	health         string
	otlpEndpoint   string
	otlpInsecure   bool
	istioNamespace string
	sightLost      time.Duration
	budgetClusters int32
	budgetEndpoint int32
	names          namesOptions
	leader         leaderOptions
}

func newHubCommand(log func() *slog.Logger) *cobra.Command {
	var o hubOptions
	cmd := &cobra.Command{
		Use:   "hub",
		Short: "Run the hub: it holds the federation API and moves traffic",
		Args:  noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHub(cmd.Context(), o, log())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.namespace, "namespace", "weir-system", "namespace of the hub's own Secrets: authority, join tokens, members' credentials")
	f.StringVar(&o.listen, "listen", ":8443", "address on which agents dial in")
	f.StringVar(&o.advertise, "advertise-address", "", "host:port under which agents reach --listen; kubectl weir join hands it out")
	f.StringVar(&o.metrics, "metrics-address", ":8080", "address of /metrics; 0 turns it off")
	f.StringVar(&o.health, "health-address", ":8081", "address of /healthz and /readyz")
	f.StringVar(&o.otlpEndpoint, "otlp-endpoint", "", "host:port of an OTLP gRPC collector for traces; empty: no traces are sent")
	f.BoolVar(&o.otlpInsecure, "otlp-insecure", false, "send traces without TLS")
	f.StringVar(&o.istioNamespace, "istio-namespace", "istio-system", "namespace of istiod in every member")
	f.DurationVar(&o.sightLost, "sight-lost-after", 30*time.Second, "how long a member may be silent before its facts count as old and nothing rests on them")
	f.Int32Var(&o.budgetClusters, "budget-clusters", 2000, "how many Envoy clusters weir's rules may add to one proxy")
	o.leader.add(f)
	f.Int32Var(&o.budgetEndpoint, "budget-endpoints", 20000, "how many endpoints weir's rules may add to one proxy")
	o.names.flags(f)
	return cmd
}

func (o hubOptions) validate() error {
	switch {
	case o.advertise == "":
		return errors.New("--advertise-address is empty: give the host:port under which agents reach this hub")
	case o.sightLost < time.Second:
		return fmt.Errorf("--sight-lost-after %s is too short: a beat takes longer", o.sightLost)
	case o.budgetClusters < 0 || o.budgetEndpoint < 0:
		return errors.New("--budget-clusters and --budget-endpoints must not be negative")
	}
	if _, _, err := net.SplitHostPort(o.advertise); err != nil {
		return fmt.Errorf("--advertise-address %q is not host:port: %w", o.advertise, err)
	}
	if _, _, err := net.SplitHostPort(o.otlpEndpoint); o.otlpEndpoint != "" && err != nil {
		return fmt.Errorf("--otlp-endpoint %q is not host:port: %w", o.otlpEndpoint, err)
	}
	return o.leader.validate()
}

func runHub(ctx context.Context, o hubOptions, log *slog.Logger) error {
	if err := usage(o.validate()); err != nil {
		return err
	}
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	names, err := newNames(o.names, metrics.Registry, log)
	if err != nil {
		return usage(err)
	}
	klog.SetSlogLogger(log)
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client of the hub's API server: %w", err)
	}
	lock, err := o.leader.lock(config, o.namespace)
	if err != nil {
		return err
	}
	m, err := newManager(o, names, config, lock)
	if err != nil {
		return err
	}
	uid, err := hubUID(ctx, kube)
	if err != nil {
		return err
	}
	server, rotate, err := newLink(ctx, o, kube, uid, metrics.Registry, log)
	if err != nil {
		return err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces not delivered", "err", err) }))
	provider, err := newTraces(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = provider.Shutdown(stop) // what could not be sent by then is lost with the collector
	}()
	term := member.NewTerm(uid, &election.Record{Client: kube, Namespace: o.namespace, Leader: lock.Identity()})
	if err := addControllers(m, o, kube, names, server, term, tracing.New(provider)); err != nil {
		return err
	}
	if err := m.Add(link{server: server, address: o.listen, rotate: rotate}); err != nil {
		return fmt.Errorf("add the agents' server: %w", err)
	}
	if err := m.Add(rotator{rotate: rotate}); err != nil {
		return fmt.Errorf("add the rotation of the hub's authority: %w", err)
	}
	if err := m.Add(sweeper{tokens: &identity.Tokens{Client: kube, Namespace: o.namespace}}); err != nil {
		return fmt.Errorf("add the sweeper of join tokens: %w", err)
	}
	return m.Start(ctx)
}

// newManager makes what runs the hub's parts: all of them once the lock is held, but for health and metrics.
func newManager(o hubOptions, names names, config *rest.Config, lock resourcelock.Interface) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes types: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register weir's types: %w", err)
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: o.metrics, ExtraHandlers: names.handlers()},
		HealthProbeBindAddress: o.health,
		LeaderElection:         true, LeaderElectionResourceLockInterface: lock, LeaderElectionReleaseOnCancel: true,
		LeaderElectionID: election.LeaseName, LeaseDuration: &o.leader.lease, RenewDeadline: &o.leader.renew, RetryPeriod: &o.leader.retry,
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.namespace: {}}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	if err := m.AddReadyzCheck("leads", leads(m.Elected(), lock)); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	return m, names.join(m)
}

// newLink opens the authority, makes the agents' server, whose metrics it registers with to, and publishes where it is. It
// returns what keeps the authority, and what is published of it, up to date.
func newLink(ctx context.Context, o hubOptions, kube kubernetes.Interface, uid string, to prometheus.Registerer, log *slog.Logger) (*stream.Server, func(context.Context) error, error) {
	store := &identity.Authority{Client: kube, Namespace: o.namespace}
	authority, err := stream.OpenAuthority(ctx, store, time.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("open the hub's authority: %w", err)
	}
	rotate := func(ctx context.Context) error {
		if err := authority.Rotate(ctx, store, time.Now()); err != nil {
			return err
		}
		return identity.Publish(ctx, kube, o.namespace, o.advertise, authority.Bundle())
	}
	server, err := stream.NewServer(stream.ServerConfig{
		Authority: authority, Tokens: &identity.Tokens{Client: kube, Namespace: o.namespace},
		HubUID: uid, Logger: log, Metrics: to,
	})
	if err != nil {
		return nil, nil, err
	}
	return server, rotate, identity.Publish(ctx, kube, o.namespace, o.advertise, authority.Bundle())
}

// redial looks for a collector that is away often enough for no batch of spans to be given up, for which the exporter takes
// ten seconds, once it is back. By the library's default it is looked for every two minutes in the end.
func redial() grpc.ConnectParams {
	return grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 4 * time.Second},
		MinConnectTimeout: 5 * time.Second,
	}
}

func newTraces(ctx context.Context, o hubOptions) (*sdktrace.TracerProvider, error) {
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithIDGenerator(tracing.Generator{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.NewSchemaless(serviceName)),
	}
	if o.otlpEndpoint != "" {
		to := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(o.otlpEndpoint), otlptracegrpc.WithDialOption(grpc.WithConnectParams(redial()))}
		if o.otlpInsecure {
			to = append(to, otlptracegrpc.WithInsecure())
		}
		exporter, err := otlptracegrpc.New(ctx, to...)
		if err != nil {
			return nil, fmt.Errorf("open OTLP exporter to %s: %w", o.otlpEndpoint, err)
		}
		options = append(options, sdktrace.WithBatcher(exporter))
	}
	return sdktrace.NewTracerProvider(options...), nil
}

func addControllers(
	m manager.Manager, o hubOptions, kube kubernetes.Interface, names names, server *stream.Server, term *member.Term, tracer *tracing.Tracer,
) error {
	door := member.NewDoor(m.GetClient(), o.namespace, term)
	for _, c := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&cluster.Reconciler{Client: m.GetClient(), Door: door, Members: server, Recorder: m.GetEventRecorder("weir-cluster"), Now: time.Now},
		&policy.Reconciler{Client: m.GetClient()},
		&globalservice.Reconciler{
			Client: m.GetClient(), Door: door, Members: server, Recorder: m.GetEventRecorder("weir-globalservice"), Tracer: tracer, Now: time.Now,
			Config: globalservice.Config{
				SystemNamespace: o.istioNamespace, BudgetClusters: o.budgetClusters, BudgetEndpoints: o.budgetEndpoint, SightLost: o.sightLost,
			},
		},
		&shift.Reconciler{Client: m.GetClient(), Recorder: m.GetEventRecorder("weir-shift"), Tracer: tracer, Now: time.Now},
		&drain.Reconciler{Client: m.GetClient(), Members: server, Recorder: m.GetEventRecorder("weir-drain"), Tracer: tracer, Now: time.Now},
		&unjoin.Reconciler{
			Client: m.GetClient(), Door: door, Recorder: m.GetEventRecorder(unjoin.FieldManager), Now: time.Now,
			Namespace: o.namespace, Tokens: &identity.Tokens{Client: kube, Namespace: o.namespace},
		},
		names.reconciler(servicedns.Reconciler{Client: m.GetClient(), Recorder: m.GetEventRecorder(servicedns.FieldManager), Now: time.Now}),
	} {
		if err := c.SetupWithManager(m); err != nil {
			return fmt.Errorf("start controller: %w", err)
		}
	}
	return addFederation(m, server, door)
}

// addFederation adds what divides federated workloads, and keeps their copies and those of Services in members.
func addFederation(m manager.Manager, server *stream.Server, door *member.Door) error {
	counted, err := schedule.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the scheduler's metrics: %w", err)
	}
	written, err := sync.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of copies: %w", err)
	}
	copies := sync.Config{Client: m.GetClient(), Live: m.GetAPIReader(), Door: door, Recorder: m.GetEventRecorder(sync.FieldManager), Now: time.Now, Metrics: written}
	for _, c := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&binding.Reconciler{Client: m.GetClient()},
		&schedule.Reconciler{Client: m.GetClient(), Views: server, Recorder: m.GetEventRecorder(schedule.FieldManager), Now: time.Now, Metrics: counted},
		sync.NewDeployments(copies, server),
		sync.NewServices(copies),
		&status.Reconciler{Client: m.GetClient(), Recorder: m.GetEventRecorder(status.FieldManager)},
	} {
		if err := c.SetupWithManager(m); err != nil {
			return fmt.Errorf("start controller: %w", err)
		}
	}
	return nil
}
