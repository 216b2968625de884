// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Check is one thing that an audit has looked at.
type Check struct {
	// Name tells what was looked at, with the cluster in front of it.
	Name string
	// Err is nil when it is as it should be, else what is wrong.
	Err error
	// Found is what was seen, for the reader of a passed check.
	Found string
}

// String is one line for people.
func (c Check) String() string {
	if c.Err != nil {
		return "FAIL  " + c.Name + ": " + c.Err.Error()
	}
	return "ok    " + c.Name + ": " + c.Found
}

// audit collects checks and tells each as it is made. It may be used by many goroutines.
type audit struct {
	mu     sync.Mutex
	report func(Check)
	failed int
}

// do makes one check.
func (a *audit) do(name string, look func() (string, error)) {
	found, err := look()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failed++
	}
	a.report(Check{Name: name, Found: found, Err: err})
}

// each does something for each of the clusters, at the same time, and returns when all of it is done.
func each(clusters []*Cluster, do func(*Cluster)) {
	var all sync.WaitGroup
	for _, c := range clusters {
		all.Go(func() { do(c) })
	}
	all.Wait()
}

// ErrAudit says that at least one check of an audit failed.
var ErrAudit = errors.New("the fleet is not what it claims to be")

// Audit proves on the running fleet that its parts are the real ones: it starts a small application of its own in each member,
// sends requests through it, and looks at nodes, processes, slices, redirects, the firewall and istiods. Each check is reported
// as it is made, never two at once; those of different members are made side by side. The result is [ErrAudit] when one failed.
func (f *Fleet) Audit(ctx context.Context, report func(Check)) error {
	a := &audit{report: report}
	each(f.clusters, func(c *Cluster) {
		a.do(c.Name+": node is ready and runs containerd", func() (string, error) { return c.auditNode(ctx) })
		a.do(c.Name+": endpoint slices come from the real controller", func() (string, error) { return c.auditSlices(ctx) })
	})
	// A client's requests reach every member only when all have their probe.
	each(f.Members(), func(c *Cluster) {
		a.do(c.Name+": the audit's application runs", func() (string, error) { return c.startProbe(ctx) })
	})
	each(f.Members(), func(c *Cluster) {
		a.do(c.Name+": a client's requests reach every member through its sidecar", func() (string, error) { return c.auditTraffic(ctx) })
		a.do(c.Name+": each proxy is the pinned Envoy", func() (string, error) { return c.auditEnvoys(ctx) })
		a.do(c.Name+": sidecars capture traffic both ways", func() (string, error) { return c.auditRedirects(ctx) })
		a.do(c.Name+": istiod serves proxies and none refuses its configuration", func() (string, error) { return c.auditIstiods(ctx) })
		a.do(c.Name+": no proxy has refused a configuration", func() (string, error) { return c.auditRefusals(ctx) })
		a.do(c.Name+": the hub reaches its API server and nothing else", func() (string, error) { return c.auditFirewall(ctx) })
	})
	if f.Topology == Gateways {
		a.do("pods of one member do not reach another's", func() (string, error) { return f.auditNetworks(ctx) })
		a.do("gateways between networks serve their own network only", func() (string, error) { return f.auditGateways(ctx) })
	}
	a.do("the machine's own network is as it was", f.auditHost)
	a.do(fmt.Sprintf("memory is at most %d MiB", memoryLimit), f.auditMemory)
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range f.Members() {
		g.Go(func() error { return c.Delete(ctx, fmt.Sprintf(probeNamespaceManifest, probeNamespace)) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if a.failed > 0 {
		return fmt.Errorf("%w: %d checks failed", ErrAudit, a.failed)
	}
	return nil
}

// auditNode looks at the node as the API server shows it.
func (c *Cluster) auditNode(ctx context.Context) (string, error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	if len(nodes.Items) == 0 {
		return "", errors.New("no nodes")
	}
	var found []string
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if why := notReady(n); why != "" {
			return "", fmt.Errorf("node %s: %s", n.Name, why)
		}
		runtime := n.Status.NodeInfo.ContainerRuntimeVersion
		if !strings.HasPrefix(runtime, "containerd://") {
			return "", fmt.Errorf("node %s runs %q", n.Name, runtime)
		}
		found = append(found, fmt.Sprintf("%s kubelet %s %s", n.Name, n.Status.NodeInfo.KubeletVersion, runtime))
	}
	return strings.Join(found, ", "), nil
}

// auditSlices looks at who manages the EndpointSlices. The API server makes its own for the Service "kubernetes", and weir
// makes those that carry its labels.
func (c *Cluster) auditSlices(ctx context.Context) (string, error) {
	const managedBy, controller = "endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	slices, err := client.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	real, others := 0, 0
	for i := range slices.Items {
		s := &slices.Items[i]
		switch {
		case s.Labels[managedBy] == controller:
			real++
		case s.Namespace == "default" && s.Name == "kubernetes", weirs(s.Labels):
			others++
		default:
			return "", fmt.Errorf("slice %s/%s is managed by %q", s.Namespace, s.Name, s.Labels[managedBy])
		}
	}
	if real == 0 && c.Name != Hub {
		return "", errors.New("there are none of the controller's")
	}
	return fmt.Sprintf("%d of the controller's, %d of the API server's or weir's", real, others), nil
}

// weirs says whether labels mark an object as weir's own.
func weirs(labels map[string]string) bool {
	for k := range labels {
		domain, _, _ := strings.Cut(k, "/")
		if domain == "weir.io" || strings.HasSuffix(domain, ".weir.io") {
			return true
		}
	}
	return false
}

const (
	probeNamespace = "weir-audit"
	probeName      = "probe"
	probePort      = 8080

	probeNamespaceManifest = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {istio-injection: enabled}}\n"
)

// probeManifest is the audit's own application: a Service and one pod behind it in each member.
const probeManifest = `apiVersion: v1
kind: Service
metadata: {name: probe, namespace: %[1]s}
spec: {selector: {app: probe}, ports: [{name: http, port: %[2]d, targetPort: %[2]d}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: probe, namespace: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: probe}}
  template:
    metadata: {labels: {app: probe}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: probe
        image: %[3]s
        imagePullPolicy: Never
        args: [serve, --ledger, /tmp]
        env:
        - {name: CLUSTER, value: %[4]s}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        readinessProbe: {httpGet: {path: /readyz, port: %[2]d}, periodSeconds: 2}
`

func (c *Cluster) startProbe(ctx context.Context) (string, error) {
	manifests := []string{
		fmt.Sprintf(probeNamespaceManifest, probeNamespace),
		fmt.Sprintf(probeManifest, probeNamespace, probePort, AppImage, c.Name),
	}
	if err := c.Apply(ctx, manifests...); err != nil {
		return "", err
	}
	if err := c.WaitDeployment(ctx, probeNamespace, probeName, 2*time.Minute); err != nil {
		return "", err
	}
	return "one pod with a sidecar", nil
}
