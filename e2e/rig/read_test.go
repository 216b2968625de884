// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func TestSumAddsOneMetricOverItsLabels(t *testing.T) {
	const text = `# HELP pilot_xds Number of endpoints connected.
# TYPE pilot_xds gauge
pilot_xds{version="1.31"} 3
pilot_xds{version="1.30"} 2
pilot_xds_pushes{type="cds"} 40
pilot_total_xds_rejects 1.5e+01
`
	for name, want := range map[string]float64{"pilot_xds": 5, "pilot_xds_pushes": 40, "pilot_total_xds_rejects": 15, "absent": 0} {
		if got := sum(text, name); got != want {
			t.Errorf("%s: got %g, want %g", name, got, want)
		}
	}
}

func TestRedirectsAreReadWithTheirCounters(t *testing.T) {
	const text = `*nat
[12:720] -A PREROUTING -p tcp -j ISTIO_INBOUND
[3:180] -A ISTIO_IN_REDIRECT -p tcp -j REDIRECT --to-ports 15006
[7:420] -A ISTIO_REDIRECT -p tcp -j REDIRECT --to-ports 15001
[9:9] -A OTHER -p tcp -j REDIRECT --to-ports 8080
`
	var got [][]string
	for _, m := range redirected.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1:])
	}
	if diff := cmp.Diff([][]string{{"3", "15006"}, {"7", "15001"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndpointsOfAGatewayAreReadOnceEach(t *testing.T) {
	const text = `outbound_.8080_._.echo.demo.svc.cluster.local::observability_name::x
outbound_.8080_._.echo.demo.svc.cluster.local::10.202.1.5:8080::cx_active::0
outbound_.8080_._.echo.demo.svc.cluster.local::10.202.1.5:8080::rq_total::4
outbound|8080||echo.demo.svc.cluster.local::10.203.1.5:8080::cx_active::0
xds-grpc::127.0.0.1:15012::cx_active::1
`
	m := endpointLine.FindAllStringSubmatch(text, -1)
	if len(m) != 1 || m[0][2] != "10.202.1.5" {
		t.Errorf("got %v", m)
	}
}

func TestControlGroupsOfContainersAreFoundInBothLayouts(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"one hierarchy": {"0::/k8s.io/abc\n", []string{"/sys/fs/cgroup/k8s.io/abc", "/sys/fs/cgroup/unified/k8s.io/abc"}},
		"many":          {"9:name=systemd:/k8s.io/abc\n3:cpuset:/k8s.io/abc\n", []string{"/sys/fs/cgroup/systemd/k8s.io/abc", "/sys/fs/cgroup/cpuset/k8s.io/abc"}},
		"not ours":      {"0::/user.slice/k8s.io/abc\n1:cpu:/\n", nil},
		"empty":         {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, containerGroups(c.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestsAreOrderedSoThatNeedsComeFirst(t *testing.T) {
	const text = `kind: ValidatingWebhookConfiguration
metadata: {name: w}
---
kind: Deployment
metadata: {name: d1}
---
# a comment and nothing else
---
kind: Namespace
metadata: {name: space}
---
kind: Deployment
metadata: {name: d2}
`
	objects, err := decode([]string{text, "kind: CustomResourceDefinition\nmetadata: {name: c}\n"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.GetName())
	}
	if diff := cmp.Diff([]string{"c", "space", "d1", "d2", "w"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := decode([]string{"kind: [\n"}); err == nil {
		t.Error("broken YAML was read")
	}
}

func TestAKubeconfigHoldsAContextForEachCluster(t *testing.T) {
	config, err := clientcmd.Load([]byte(kubeconfigOf([]access{
		{name: "hub", server: "https://10.200.0.1:6443", ca: []byte("one"), token: "a"},
		{name: "c1", server: "https://10.201.0.1:6443", ca: []byte("two"), token: "b"},
	})))
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != "hub" || len(config.Contexts) != 2 {
		t.Fatalf("contexts %v, current %q", config.Contexts, config.CurrentContext)
	}
	c := config.Contexts["c1"]
	if got := config.Clusters[c.Cluster]; got.Server != "https://10.201.0.1:6443" || string(got.CertificateAuthorityData) != "two" {
		t.Errorf("cluster %+v", got)
	}
	if got := config.AuthInfos[c.AuthInfo].Token; got != "b" {
		t.Errorf("token %q", got)
	}
}

func TestACopiedStoreSharesFilesButNotDatabases(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, text := range map[string]string{"blobs/layer": "program", "meta.db": "state"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("layer", filepath.Join(from, "blobs", "alias")); err != nil {
		t.Fatal(err)
	}
	if err := copyStore(from, to); err != nil {
		t.Fatal(err)
	}
	for name, shared := range map[string]bool{"blobs/layer": true, "meta.db": false} {
		a, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if os.SameFile(a, b) != shared {
			t.Errorf("%s is the same file: %v, want %v", name, !shared, shared)
		}
		if a.Mode() != b.Mode() {
			t.Errorf("%s has mode %v, want %v", name, b.Mode(), a.Mode())
		}
	}
	if link, err := os.Readlink(filepath.Join(to, "blobs", "alias")); err != nil || link != "layer" {
		t.Errorf("link %q, %v", link, err)
	}
}

func TestWeirsOwnObjectsAreToldByTheirLabels(t *testing.T) {
	for label, want := range map[string]bool{
		"weir.io/source": true, "federation.weir.io/cluster": true, "notweir.io/x": false, "app": false,
	} {
		if got := weirs(map[string]string{label: "x"}); got != want {
			t.Errorf("%s: got %v", label, got)
		}
	}
}
