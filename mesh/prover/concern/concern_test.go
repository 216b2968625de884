// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package concern

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/mesh/prover/census"
)

const (
	ours   = "echo.prover.svc.cluster.local"
	theirs = "echo.demo.svc.cluster.local"
	routed = "echo.rigtest.svc.cluster.local"
	absent = "nobody.prover.svc.cluster.local"
)

func TestRecordedConfigurationsTellWhoIsConcerned(t *testing.T) {
	for name, want := range map[string]map[string]Reach{
		"sidecar.json": {
			ours:   {Cluster: true, Subsets: []string{"weir-c1", "weir-c2"}, Generations: []int64{3}},
			theirs: {Cluster: true, Foreign: `route "default" in routes 8080`},
			routed: {Cluster: true, Foreign: `route "default" in routes 8080`},
		},
		"gateway.json": {
			ours:   {Cluster: true, Subsets: []string{"weir-c1", "weir-c2"}},
			theirs: {Cluster: true, Foreign: `route "" in routes http.80`},
			routed: {Cluster: true, Foreign: `route "" in routes http.80`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			got, err := Read(f, []string{ours, theirs, routed, absent})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reach (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryWayToTheHostIsFound(t *testing.T) {
	const host = "a.b.svc.cluster.local"
	cluster := `{"@type":"` + typeCluster + `","name":"outbound|80||` + host + `"}`
	route := func(name, action string) string {
		return `{"@type":"` + typeRoutes + `","name":"80","virtualHosts":[{"name":"x","routes":[{"name":"` + name + `",` + action + `}]}]}`
	}
	for name, tc := range map[string]struct {
		entries    []string
		unweighted string // a part of what is said, "" for none
		weighted   bool
		holds      bool
	}{
		"nothing":      {entries: []string{`{"@type":"` + typeCluster + `","name":"outbound|80||other.b.svc.cluster.local"}`}},
		"cluster only": {entries: []string{cluster}, unweighted: "a cluster that no route", holds: true},
		"our route": {
			entries:  []string{cluster, route("weir-g7-80-all", `"route":{"weightedClusters":{"clusters":[{"name":"outbound|80|weir-c1|`+host+`"}]}}`)},
			weighted: true, holds: true,
		},
		"our route and another": {entries: []string{
			cluster, route("weir-g7-80-all", `"route":{"cluster":"outbound|80||`+host+`"}`),
			route("own", `"route":{"cluster":"outbound|80||`+host+`"}`),
		}, weighted: true, holds: true, unweighted: `route "own"`},
		"a mirror": {
			entries: []string{cluster, route("own", `"route":{"cluster":"elsewhere","requestMirrorPolicies":[{"cluster":"outbound|80||`+host+`"}]}`)},
			holds:   true, unweighted: `route "own"`,
		},
		"a TCP chain": {
			entries: []string{cluster, `{"@type":"` + typeListener + `","name":"l","filterChains":[{"filters":[{"typedConfig":{"cluster":"outbound|80||` + host + `"}}]}]}`},
			holds:   true, unweighted: "listener l",
		},
		"a filter's service": {
			entries: []string{cluster, `{"@type":"` + typeListener + `","name":"l","x":{"envoyGrpc":{"clusterName":"outbound|80||` + host + `"}}}`},
			holds:   true, unweighted: "listener l",
		},
		"an east-west gateway": {entries: []string{`{"@type":"` + typeCluster + `","name":"outbound_.80_.weir-c1_.` + host + `"}`}, holds: true},
		"a longer host":        {entries: []string{`{"@type":"` + typeCluster + `","name":"outbound|80||` + host + `.example"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(strings.NewReader(`{"configs":[`+strings.Join(tc.entries, ",")+`]}`), []string{host})
			if err != nil {
				t.Fatal(err)
			}
			r := got[host]
			said := r.Unweighted()
			if r.Weighted() != tc.weighted || r.Holds() != tc.holds || (said == "") != (tc.unweighted == "") || !strings.Contains(said, tc.unweighted) {
				t.Errorf("reach %+v says %q", r, said)
			}
		})
	}
}

func TestCutConfigurationIsRefused(t *testing.T) {
	for _, in := range []string{
		"", "{}", `{"configs":[`, `{"configs":[]`, `{"configs":[{"@type":"x"`, `[]`,
		`{"configs":[{"@type":"` + typeListener + `","name":"a.b","d":` + strings.Repeat("[", 100) + `"a.b"` + strings.Repeat("]", 100) + `}]}`,
	} {
		if _, err := Read(strings.NewReader(in), []string{"a.b"}); err == nil {
			t.Errorf("%.60q was read", in)
		}
	}
}

func TestHostReachedByAClusterAloneIsNotHiddenByAnother(t *testing.T) {
	a := Reach{Cluster: true, Generations: []int64{2}, Subsets: []string{"weir-c1", "weir-c2"}}
	b := Reach{Cluster: true, Subsets: []string{"weir-c1"}}
	for name, got := range map[string]Reach{"a, b": a.Merge(b), "b, a": b.Merge(a)} {
		if got.Unweighted() == "" || !got.Weighted() || !cmp.Equal(got.Subsets, []string{"weir-c1"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := a.Merge(Reach{}); got.Unweighted() != "" || len(got.Subsets) != 2 {
		t.Errorf("a host that is not there counts: %+v", got)
	}
}

func TestClassIsSharedByWhatIstiodServesAlike(t *testing.T) {
	base := census.Pod{Namespace: "a", Kind: census.KindSidecar, Labels: map[string]string{"app": "x", "pod-template-hash": "1"}}
	twin := base
	twin.Labels = map[string]string{"app": "x", "pod-template-hash": "2"}
	if ClassOf(base, "s") != ClassOf(twin, "s") {
		t.Error("two pods of one workload are of two classes")
	}
	other, ns, kind := base, base, base
	other.Labels = map[string]string{"app": "y"}
	ns.Namespace = "b"
	kind.Kind = census.KindGateway
	for name, c := range map[string]Class{
		"labels": ClassOf(other, "s"), "namespace": ClassOf(ns, "s"), "kind": ClassOf(kind, "s"),
		"scope": ClassOf(base, "t"), "unknown": ClassOfUnknown("x.a"),
	} {
		if c == ClassOf(base, "s") {
			t.Errorf("another %s is of the same class", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"configs":[{"@type":"` + typeCluster + `","name":"outbound|80||a.b"}]}`)
	f.Add(`{"configs":[{"@type":"` + typeRoutes + `","name":"80","virtualHosts":[{"routes":[{"name":"weir-g7-80-all","route":{"cluster":"outbound|80||a.b"}}]}]}]}`)
	f.Add(`{"configs":[{"@type":"` + typeListener + `","x":"outbound_.80_._.a.b"}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Read(strings.NewReader(s), []string{"a.b"})
		if err != nil {
			return
		}
		for host, r := range got {
			if host != "a.b" {
				t.Errorf("found %q, which was not asked for", host)
			}
			if r.Weighted() && len(r.Generations) == 0 {
				t.Errorf("weighted without a generation: %+v", r)
			}
		}
	})
}
