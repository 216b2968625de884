// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-io/weir/mesh/istio"
)

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func TestSubsetNameKeepsPlainNames(t *testing.T) {
	for _, c := range []string{"c1", "eu-west-1", "7", strings.Repeat("a", 58)} {
		if got := istio.SubsetName(c); got != "weir-"+c {
			t.Errorf("SubsetName(%q) = %q", c, got)
		}
	}
}

func TestSubsetNameHashesWhatIsNoLabel(t *testing.T) {
	cases := map[string]string{
		"dots":                 "eu.west",
		"capitals":             "EU",
		"too long":             strings.Repeat("a", 59),
		"leading dash":         "-a",
		"trailing dash":        "a-",
		"empty":                "",
		"nothing but dots":     "...",
		"not ASCII":            "köln",
		"the shape of a hash":  "eu-x0123456789",
		"long and full of dot": strings.Repeat("a.", 100),
	}
	seen := map[string]string{}
	for name, c := range cases {
		got := istio.SubsetName(c)
		if got == "weir-"+c || !dnsLabel.MatchString(got) {
			t.Errorf("%s: SubsetName(%q) = %q", name, c, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s share %q", name, other, got)
		}
		seen[got] = name
	}
}

// TestSubsetNamesAreLabelsAndDiffer: two clusters with one subset would be one
// cluster to the mesh.
func TestSubsetNamesAreLabelsAndDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-c.A-]{0,3}`), rapid.StringMatching(`[ab](-x[0-9a-f]{10})?`))
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		sa, sb := istio.SubsetName(a), istio.SubsetName(b)
		if !dnsLabel.MatchString(sa) {
			t.Fatalf("SubsetName(%q) = %q is no DNS label", a, sa)
		}
		if (a == b) != (sa == sb) {
			t.Fatalf("SubsetName(%q) = %q, SubsetName(%q) = %q", a, sa, b, sb)
		}
	})
}

func TestObjectNamesOfDifferentHostsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, service := range []string{"a", "a-clusterset", "clusterset"} {
		for _, set := range []bool{false, true} {
			name := istio.ObjectName(service, set)
			if seen[name] || !strings.HasPrefix(name, istio.Prefix) {
				t.Errorf("ObjectName(%q, %v) = %q", service, set, name)
			}
			seen[name] = true
		}
	}
}

func TestRouteNamesTellTheirGeneration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Int64Min(1).Draw(t, "generation")
		port := rapid.Int32Range(1, 65535).Draw(t, "port")
		branch := rapid.SampledFrom([]istio.Branch{istio.BranchAll, istio.BranchReads, istio.BranchRest}).Draw(t, "branch")
		got, ok := istio.ParseRouteName(istio.RouteName(gen, port, branch))
		if !ok || got != gen {
			t.Fatalf("generation %d came back as %d, %v", gen, got, ok)
		}
	})
}

func TestOtherRouteNamesHaveNoGeneration(t *testing.T) {
	for _, name := range []string{
		"", "default", "weir-g", "weir-g12", "weir-g12-80", "weir-g0-80-all", "weir-g-1-80-all", "weir-g+1-80-all",
		"weir-g012-80-all", "weir-g12-080-all", "weir-g12-80-some", "weir-g12-80-all-x", "weir-g12-80-all.x", "Weir-g12-80-all",
		"weir-g9223372036854775808-80-all", "weir-g12-0-all", "weir-g12-80-all ", "shop-weir-g12-80-all",
	} {
		if gen, ok := istio.ParseRouteName(name); ok {
			t.Errorf("%q was read as generation %d", name, gen)
		}
	}
}

// FuzzParseRouteName: what is read as ours is written back the same.
func FuzzParseRouteName(f *testing.F) {
	f.Add(istio.RouteName(12, 8080, istio.BranchReads))
	f.Add("weir-g12-8080-all.match")
	f.Add("weir-g-12-8080-all")
	f.Fuzz(func(t *testing.T, name string) {
		gen, ok := istio.ParseRouteName(name)
		if !ok {
			if gen != 0 {
				t.Errorf("%q is not ours but has generation %d", name, gen)
			}
			return
		}
		found := false
		for _, b := range []istio.Branch{istio.BranchAll, istio.BranchReads, istio.BranchRest} {
			prefix, _, _ := strings.Cut(istio.RouteName(gen, 1, b), "-1-")
			found = found || strings.HasPrefix(name, prefix+"-") && strings.HasSuffix(name, "-"+string(b))
		}
		if gen < 1 || !found {
			t.Errorf("%q was read as generation %d", name, gen)
		}
	})
}

func TestEnvoyNames(t *testing.T) {
	host := istio.HostName("reviews", "shop", istio.DefaultDomain)
	cases := map[string]string{
		istio.EnvoyCluster(8080, "weir-c1", host):                                                            "outbound|8080|weir-c1|reviews.shop.svc.cluster.local",
		istio.EnvoyCluster(8080, "", host):                                                                   "outbound|8080||reviews.shop.svc.cluster.local",
		istio.SNICluster(8080, "weir-c1", host):                                                              "outbound_.8080_.weir-c1_.reviews.shop.svc.cluster.local",
		istio.RouteConfigName(istio.Port{Name: "http", Number: 8080}, host):                                  "8080",
		istio.RouteConfigName(istio.Port{Name: "grpc-x", Number: 9090}, host):                                "9090",
		istio.RouteConfigName(istio.Port{Number: 7000}, host):                                                "reviews.shop.svc.cluster.local:7000",
		istio.RouteConfigName(istio.Port{Name: "tcp", Number: 5432}, host):                                   "",
		istio.RouteConfigName(istio.Port{Name: "https", Number: 443}, host):                                  "",
		istio.RouteConfigName(istio.Port{Protocol: "UDP", Number: 53}, host):                                 "",
		istio.HostName("reviews", "shop", istio.ClusterSetDomain):                                            "reviews.shop.svc.clusterset.local",
		istio.RouteConfigName(istio.Port{Name: "mysql-a", Number: 3306}, host):                               "",
		istio.RouteConfigName(istio.Port{Name: "anything", Number: 3306}, host):                              "",
		istio.RouteConfigName(istio.Port{Name: "GRPC-Web-a", Number: 88}, host):                              "88",
		istio.RouteConfigName(istio.Port{Name: "HTTP2", Number: 89}, host):                                   "89",
		istio.RouteConfigName(istio.Port{Name: "http-proxy", Number: 90}, host):                              "90",
		istio.RouteConfigName(istio.Port{Name: "httpx", Number: 91}, host):                                   host + ":91",
		istio.RouteConfigName(istio.Port{AppProtocol: "HTTP", Number: 1}, host):                              "1",
		istio.RouteConfigName(istio.Port{Protocol: "SCTP", Number: 2}, host):                                 "",
		istio.RouteConfigName(istio.Port{Protocol: "tcp", Number: 3}, host):                                  host + ":3",
		istio.RouteConfigName(istio.Port{AppProtocol: "a.b/c", Number: 4}, host):                             host + ":4",
		istio.RouteConfigName(istio.Port{Name: "http", AppProtocol: "kubernetes.io/wss", Number: 443}, host): "",
		istio.RouteConfigName(istio.Port{Name: "tcp", AppProtocol: "kubernetes.io/ws", Number: 81}, host):    "81",
	}
	for got, want := range cases {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
