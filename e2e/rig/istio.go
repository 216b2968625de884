// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/e2e/load"
)

const (
	istioNamespace   = "istio-system"
	ingressNamespace = "istio-ingress"
	readerAccount    = "istio-reader-service-account"
)

// values are what a chart is rendered with.
type values = map[string]any

// inboundStatistics are the counters that Envoy leaves out by default and weir's quiet probe reads on port 15090.
var inboundStatistics = []any{
	`http\.inbound_.*downstream_rq.*`, `http\.inbound_.*downstream_cx_active`, `http\.outbound_.*downstream_rq.*`,
	`listener\..*downstream_cx_active`, `tcp\.outbound_.*downstream_cx_(active|rx_bytes_total)`,
}

// small is what each part of the mesh asks of the node. The defaults would fill a small machine with promises that nothing
// needs; much less than this, and a proxy starves beside a program that asks for more.
func small(memory string) values {
	return values{"requests": values{"cpu": "100m", "memory": memory}}
}

// istiodValues are a user's values for one cluster of a multi-primary mesh.
func (c *Cluster) istiodValues() values {
	return values{
		"global": values{
			"hub": "weir.test", "tag": "1", "imagePullPolicy": "Never",
			"proxy":        values{"image": "proxyv2", "resources": small("48Mi")},
			"multiCluster": values{"clusterName": c.Name}, "network": c.Network(), "meshID": "mesh1",
		},
		"pilot": values{
			"image": "pilot", "autoscaleEnabled": false, "resources": small("64Mi"),
			// Both add filters that only Istio's own build of Envoy has.
			"env": values{"PILOT_ENABLE_ALPN_FILTER": "false", "PILOT_ENABLE_METADATA_EXCHANGE": "false"},
		},
		"meshConfig": values{
			"defaultConfig": values{"concurrency": 1, "proxyStatsMatcher": values{"inclusionRegexps": inboundStatistics}},
			// What a client's proxy did with a request is evidence, in the form that the load's account reads.
			"accessLogFile": "/dev/stdout", "accessLogEncoding": "JSON", "accessLogFormat": load.AccessLogFormat,
		},
		"telemetry": values{"enabled": false},
	}
}

// installBase installs Istio's definitions, the mesh's root and the account by which other clusters' istiods read this one.
func (c *Cluster) installBase(ctx context.Context) error {
	base, err := c.fleet.chart("base", "istio-base", istioNamespace, values{"base": values{"enableCRDTemplates": true}})
	if err != nil {
		return err
	}
	secret, err := c.fleet.meshSecret(c.Name)
	if err != nil {
		return err
	}
	namespaces := fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %s, labels: {topology.istio.io/network: %s}}
---
apiVersion: v1
kind: Namespace
metadata: {name: %s, labels: {istio-injection: enabled}}
`, istioNamespace, c.Network(), ingressNamespace)
	return c.Apply(ctx, namespaces, secret, base)
}

// installIstiod installs istiod, with the secrets for the other members in place before it starts.
func (c *Cluster) installIstiod(ctx context.Context, remotes []string) error {
	istiod, err := c.fleet.chart("istio-control/istio-discovery", "istiod", istioNamespace, c.istiodValues())
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, append(remotes, istiod)...); err != nil {
		return err
	}
	return c.WaitDeployment(ctx, istioNamespace, "istiod", 3*time.Minute)
}

// installGateways installs the ingress gateway and, where each member is a network, the gateway between networks.
func (c *Cluster) installGateways(ctx context.Context) error {
	ingress, err := c.fleet.chart("gateway", "istio-ingressgateway", ingressNamespace, gatewayValues(""))
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, ingress); err != nil {
		return err
	}
	if err := c.balance(ctx, ingressNamespace, "istio-ingressgateway", c.IngressIP()); err != nil {
		return err
	}
	if c.fleet.Topology == Gateways {
		eastWest, err := c.fleet.chart("gateway", "istio-eastwestgateway", istioNamespace, gatewayValues(c.Network()))
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, eastWest, crossNetwork); err != nil {
			return err
		}
		if err := c.balance(ctx, istioNamespace, "istio-eastwestgateway", c.EastWestIP()); err != nil {
			return err
		}
		if err := c.WaitDeployment(ctx, istioNamespace, "istio-eastwestgateway", 3*time.Minute); err != nil {
			return err
		}
	}
	return c.WaitDeployment(ctx, ingressNamespace, "istio-ingressgateway", 3*time.Minute)
}

// gatewayValues are a user's values for a gateway. A network gateway sees its own network only: the chart asks that of
// istiod when it is given the network's name.
func gatewayValues(network string) values {
	v := values{
		"imagePullPolicy": "Never", "autoscaling": values{"enabled": false}, "replicaCount": 1, "resources": small("48Mi"),
	}
	if network != "" {
		v["networkGateway"] = network
	}
	return v
}

// crossNetwork opens each service of the mesh to the other networks, by the name that the client's proxy asks for.
const crossNetwork = `apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: cross-network-gateway, namespace: ` + istioNamespace + `}
spec:
  selector: {istio: eastwestgateway}
  servers:
  - port: {number: 15443, name: tls, protocol: TLS}
    tls: {mode: AUTO_PASSTHROUGH}
    hosts: ["*.local"]
`

// balance gives a Service the address of its load balancer, as a cloud would.
func (c *Cluster) balance(ctx context.Context, namespace, name, ip string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"status":{"loadBalancer":{"ingress":[{"ip":%q,"ipMode":"VIP"}]}}}`, ip)
	_, err = client.CoreV1().Services(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if err != nil {
		return fmt.Errorf("cluster %q: balance %s/%s: %w", c.Name, namespace, name, err)
	}
	return nil
}

// remoteSecret returns what the istiods of other members need to read this cluster.
func (c *Cluster) remoteSecret(ctx context.Context) (string, error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	seconds := int64(lifetime / time.Second)
	token, err := client.CoreV1().ServiceAccounts(istioNamespace).CreateToken(ctx, readerAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("cluster %q: make token of %s: %w", c.Name, readerAccount, err)
	}
	config := kubeconfig(c.Name, c.place.server(), c.fleet.ca, token.Status.Token)
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata:
  name: istio-remote-secret-%[1]s
  namespace: %[2]s
  labels: {istio/multiCluster: "true"}
  annotations: {networking.istio.io/cluster: %[1]s}
data:
  %[1]s: %[3]s
`, c.Name, istioNamespace, base64.StdEncoding.EncodeToString([]byte(config))), nil
}

// meshSecret returns the Secret that makes a cluster's istiod sign below the mesh's common root.
func (f *Fleet) meshSecret(cluster string) (string, error) {
	mid, err := newAuthority("Istio CA of "+cluster, f.meshRoot)
	if err != nil {
		return "", err
	}
	key, err := encodeKey(mid.key)
	if err != nil {
		return "", err
	}
	chain := append(append([]byte{}, mid.pem...), f.meshRoot.pem...)
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: cacerts, namespace: %s}
data:
  ca-cert.pem: %s
  ca-key.pem: %s
  root-cert.pem: %s
  cert-chain.pem: %s
`, istioNamespace, b64(mid.pem), b64(key), b64(f.meshRoot.pem), b64(chain)), nil
}

// chart renders one of Istio's own charts, of the version that the rig is built from.
func (f *Fleet) chart(name, release, namespace string, v values) (string, error) {
	return renderChart(filepath.Join(f.istio, "manifests", "charts", name), release, namespace, v)
}
