// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/dns/zone"
	"github.com/weir-io/weir/dns/zone/names"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func ttl(n uint32) *zone.TTL {
	t := zone.TTL(n)
	return &t
}

var addresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// fleet of three clusters and one service in all of them.
func fleet(change func(*names.Fleet)) names.Fleet {
	f := names.Fleet{
		Serial: 3,
		Global: &names.Zone{Origin: "global.example.com"},
		Clusters: []names.Cluster{
			{Name: "c1", Gateways: []netip.Addr{addr("192.0.2.1")}},
			{Name: "c2", Gateways: []netip.Addr{addr("192.0.2.2"), addr("2001:db8::2")}},
			{Name: "c3", Gateways: []netip.Addr{addr("192.0.2.3")}},
		},
		Services: []names.Service{{
			Namespace: "demo", Name: "echo",
			Clusters: []names.Entry{{Cluster: "c1", Weight: 500}, {Cluster: "c2", Weight: 300}, {Cluster: "c3", Weight: 200}},
		}},
	}
	if change != nil {
		change(&f)
	}
	return f
}

func TestAPlanHasEachServiceUnderItsNamesWithTheWeightsOfItsClusters(t *testing.T) {
	doc, reasons := names.Plan(fleet(func(f *names.Fleet) {
		f.Services[0].Hostname, f.Services[0].TTL = "Shop.Global.Example.com.", "30s"
		f.ClusterSet = &names.Zone{State: zone.Stale}
		f.Services[0].ClusterSetIPs = []netip.Addr{addr("10.96.0.7")}
		f.Global.NameServers = []zone.NameServer{{Name: "ns.example.net"}}
	}))
	want := zone.Document{
		Serial: 3,
		ClusterSet: &zone.ClusterSet{
			State:    zone.Stale,
			Services: []zone.ClusterSetService{{Namespace: "demo", Name: "echo", TTL: ttl(30), Addresses: []netip.Addr{addr("10.96.0.7")}}},
		},
		Global: &zone.Global{
			Origin: "global.example.com", NameServers: []zone.NameServer{{Name: "ns.example.net"}},
			Clusters: []zone.Cluster{
				{Name: "c1", Addresses: []netip.Addr{addr("192.0.2.1")}},
				{Name: "c2", Addresses: []netip.Addr{addr("192.0.2.2"), addr("2001:db8::2")}},
				{Name: "c3", Addresses: []netip.Addr{addr("192.0.2.3")}},
			},
			Services: []zone.GlobalService{{
				Namespace: "demo", Name: "echo", Hostname: "shop.global.example.com", TTL: ttl(30),
				Clusters: []zone.Share{{Name: "c1", Weight: 500}, {Name: "c2", Weight: 300}, {Name: "c3", Weight: 200}},
			}},
		},
	}
	if diff := cmp.Diff(want, doc, addresses); diff != "" || len(reasons) != 0 {
		t.Errorf("%v\n%s", reasons, diff)
	}
}

func TestAWishThatCanNotBeServedCostsTheWishAloneAndIsTold(t *testing.T) {
	other := names.Service{Namespace: "demo", Name: "other", Clusters: []names.Entry{{Cluster: "c1", Weight: 1}}}
	cases := map[string]struct {
		change func(*names.Fleet)
		want   []string
	}{
		"a host name elsewhere": {func(f *names.Fleet) { f.Services[0].Hostname = "shop.example.org" }, []string{
			`BadHostname demo/echo: annotation weir.io/hostname: "shop.example.org" is not in the zone global.example.com: give a name that ends so`,
		}},
		"no host name": {func(f *names.Fleet) { f.Services[0].Hostname = "shop_1.global.example.com" }, []string{
			`BadHostname demo/echo: annotation weir.io/hostname: "shop_1.global.example.com" is no host name: "shop_1" is no DNS label of at most 63 letters, digits and inner hyphens`,
		}},
		"a host name that two want": {func(f *names.Fleet) {
			other.Hostname = "SHOP.global.example.com"
			f.Services = []names.Service{other, f.Services[0]}
			f.Services[1].Hostname = "shop.global.example.com"
		}, []string{`HostnameTaken demo/other: annotation weir.io/hostname: the name shop.global.example.com is taken: give one of the two another`}},
		"the name of another service": {func(f *names.Fleet) {
			f.Services = append(f.Services, names.Service{Namespace: "demo", Name: "zoo", Clusters: f.Services[0].Clusters})
			f.Services[0].Hostname = "zoo.demo.global.example.com"
		}, []string{`HostnameTaken demo/echo: annotation weir.io/hostname: the name zoo.demo.global.example.com is taken: give one of the two another`}},
		"its own name": {func(f *names.Fleet) { f.Services[0].Hostname = "echo.demo.global.example.com" }, nil},
		"a host name without a zone": {func(f *names.Fleet) { f.Global, f.Services[0].Hostname = nil, "shop.example.org" }, []string{
			`NoZone demo/echo: annotation weir.io/hostname: the hub serves no global zone, so the name is not served`,
		}},
		"a zone that can not be": {func(f *names.Fleet) { f.Global.Origin, f.Services[0].Hostname = "local", "a.local" }, []string{
			`BadInput: the global zone: "local" overlaps with clusterset.local, which is a zone of its own: give another`,
			`NoZone demo/echo: annotation weir.io/hostname: the hub serves no global zone, so the name is not served`,
		}},
		"no TTL": {func(f *names.Fleet) { f.Services[0].TTL = "5" }, []string{
			`BadTTL demo/echo: annotation weir.io/ttl: "5" is no time to live: give whole seconds between 0s and 1h, such as 5s`,
		}},
		"a default TTL too long": {func(f *names.Fleet) { f.TTL = ttl(3601) }, []string{`BadTTL: the default of 1h0m1s is too long: 1h is the most`}},
		"a cluster without a gateway": {func(f *names.Fleet) { f.Clusters[2].Gateways = nil }, []string{
			`NoGateway demo/echo c3: the cluster has no gateway address, so no client is sent there`,
		}},
		"an address that no client can use": {func(f *names.Fleet) { f.Clusters[2].Gateways = []netip.Addr{addr("0.0.0.0")} }, []string{
			`BadInput c3: 0.0.0.0 can not be sent to by clients elsewhere: give a plain unicast address`,
			`NoGateway demo/echo c3: the cluster has no gateway address, so no client is sent there`,
		}},
		"no cluster left": {func(f *names.Fleet) {
			f.Clusters[0].Service = names.Out
			f.Services[0].Clusters[1].Presence = names.Out
			f.Services[0].Clusters[2].Weight = 0
		}, []string{`NoTarget demo/echo: no cluster is left that answers may name, so its global names have no address`}},
		"an import without an address": {func(f *names.Fleet) { f.ClusterSet = &names.Zone{} }, []string{
			`NoAddress demo/echo: its import has no address yet, so the name in clusterset.local has none`,
		}},
		"a cluster that is not one": {func(f *names.Fleet) { f.Services[0].Clusters[0].Cluster = "c9" }, []string{
			`BadInput demo/echo c9: the cluster is not one of the fleet`,
		}},
		"a name server with the service's name": {func(f *names.Fleet) { f.Global.NameServers = []zone.NameServer{{Name: "echo.demo.global.example.com"}} }, []string{
			`HostnameTaken demo/echo: the name echo.demo.global.example.com. is that of a name server: give that another`,
		}},
		"a name server that can not be": {func(f *names.Fleet) { f.Global.NameServers = []zone.NameServer{{Name: "global.example.com"}} }, []string{
			`BadInput: name server of global.example.com: "global.example.com" is the zone itself: give its name server a name of its own`,
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			doc, reasons := names.Plan(fleet(c.change))
			var got []string
			for _, r := range reasons {
				about := strings.TrimSuffix(strings.TrimSpace(r.Namespace+"/"+r.Name), "/")
				got = append(got, strings.Join(strings.Fields(fmt.Sprint(r.Code, " ", about, " ", r.Cluster)), " ")+": "+r.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if _, wrong := zone.Compile(doc); wrong != nil {
				t.Error(wrong)
			}
		})
	}
}

// fleets draws fleets in which wishes collide, and values are wrong now and then.
func fleets(t *rapid.T) names.Fleet {
	address := rapid.SampledFrom([]netip.Addr{addr("192.0.2.1"), addr("2001:db8::1"), addr("10.0.0.1"), addr("0.0.0.0"), addr("::ffff:1.2.3.4"), {}})
	addresses := rapid.SliceOfN(address, 0, 3)
	presence := rapid.SampledFrom([]names.Presence{"", names.In, names.Out})
	cluster := rapid.SampledFrom([]string{"c1", "c2", "c3", "C4", "c5.example", ""})
	label := rapid.SampledFrom([]string{"a", "b", "ns", "A", "", strings.Repeat("x", 63)})
	servers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) zone.NameServer {
		return zone.NameServer{Name: rapid.SampledFrom([]string{"ns.example.net", "NS.z.example", "a.a.z.example", "z.example", ""}).Draw(t, "server"), Addresses: addresses.Draw(t, "addresses")}
	}), 0, 3)
	f := names.Fleet{Serial: rapid.Uint32().Draw(t, "serial"), TTL: rapid.Ptr(rapid.Map(rapid.Uint32Range(0, 4000), func(n uint32) zone.TTL { return zone.TTL(n) }), true).Draw(t, "ttl")}
	if rapid.Bool().Draw(t, "global") {
		f.Global = &names.Zone{Origin: rapid.SampledFrom([]string{"z.example", "Z.example.", "local", "", strings.Repeat("y.", 100) + "z"}).Draw(t, "origin"), NameServers: servers.Draw(t, "servers")}
	}
	if rapid.Bool().Draw(t, "clusterSet") {
		f.ClusterSet = &names.Zone{NameServers: servers.Draw(t, "servers")}
	}
	for range rapid.IntRange(0, 4).Draw(t, "clusters") {
		f.Clusters = append(f.Clusters, names.Cluster{Name: cluster.Draw(t, "cluster"), Gateways: addresses.Draw(t, "gateways"), Service: presence.Draw(t, "service")})
	}
	for range rapid.IntRange(0, 4).Draw(t, "services") {
		s := names.Service{
			Namespace: label.Draw(t, "namespace"), Name: label.Draw(t, "name"), ClusterSetIPs: addresses.Draw(t, "ips"),
			Hostname: rapid.SampledFrom([]string{"", "h.z.example", "H.Z.Example.", "a.a.z.example", "ns.z.example", "z.example", "x.org", "_"}).Draw(t, "hostname"),
			TTL:      rapid.SampledFrom([]string{"", "7s", "2h", "x"}).Draw(t, "wish"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			s.Clusters = append(s.Clusters, names.Entry{Cluster: cluster.Draw(t, "cluster"), Weight: rapid.Uint32().Draw(t, "weight"), Presence: presence.Draw(t, "presence")})
		}
		f.Services = append(f.Services, s)
	}
	return f
}

func TestEveryPlanCompiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, _ := names.Plan(fleets(t))
		if _, wrong := zone.Compile(doc); wrong != nil {
			t.Fatal(wrong)
		}
	})
}

func TestAClusterThatLeavesIsInNoAnswerWhateverItsWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fleets(t)
		doc, _ := names.Plan(f)
		tbl, wrong := zone.Compile(doc)
		if wrong != nil {
			t.Fatal(wrong)
		}
		gone := map[string]bool{}
		for _, c := range f.Clusters {
			if _, first := gone[c.Name]; !first {
				gone[c.Name] = c.Service == names.Out
			}
		}
		for _, target := range tbl.Targets() {
			if gone[target.Cluster] {
				t.Fatalf("%v may be answered", target)
			}
		}
		if doc.Global == nil {
			return
		}
		for _, s := range doc.Global.Services {
			for _, share := range s.Clusters {
				if entry := entryOf(f, s, share.Name); share.Weight > 0 && entry.Presence == names.Out {
					t.Fatalf("%s/%s has weight %d in %s", s.Namespace, s.Name, share.Weight, share.Name)
				}
			}
		}
	})
}

// entryOf is the first entry of the first service of the name: the one that counts.
func entryOf(f names.Fleet, s zone.GlobalService, cluster string) names.Entry {
	for _, one := range f.Services {
		if one.Namespace != s.Namespace || one.Name != s.Name {
			continue
		}
		for _, e := range one.Clusters {
			if e.Cluster == cluster {
				return e
			}
		}
		break
	}
	return names.Entry{}
}

func TestTheOrderOfTheFleetChangesNothing(t *testing.T) {
	one := func(f *names.Fleet) {
		f.Services[0].Hostname = "h.global.example.com"
		for _, name := range []string{"a", "b", "c"} {
			f.Services = append(f.Services, names.Service{Namespace: "demo", Name: name, Hostname: "h.global.example.com", Clusters: f.Services[0].Clusters})
		}
	}
	want, wantReasons := names.Plan(fleet(one))
	if len(wantReasons) != 3 {
		t.Fatal(wantReasons)
	}
	shuffle := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f := fleet(one)
		shuffle.Shuffle(len(f.Services), func(i, j int) { f.Services[i], f.Services[j] = f.Services[j], f.Services[i] })
		shuffle.Shuffle(len(f.Clusters), func(i, j int) { f.Clusters[i], f.Clusters[j] = f.Clusters[j], f.Clusters[i] })
		entries := f.Services[0].Clusters
		shuffle.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		got, reasons := names.Plan(f)
		if diff := cmp.Diff(want, got, addresses) + cmp.Diff(wantReasons, reasons); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestAHostNameStaysWithTheServiceThatHoldsItWhileItWishesForIt(t *testing.T) {
	with := func(wish string, holds ...string) (holder, other string) {
		f := fleet(func(f *names.Fleet) {
			entry := []names.Entry{{Cluster: "c1", Weight: 1}}
			f.Services = []names.Service{
				{Namespace: "demo", Name: "a", Hostname: "h.global.example.com", Clusters: entry},
				{Namespace: "demo", Name: "z", Hostname: wish, Holds: holds, Clusters: entry},
			}
		})
		doc, _ := names.Plan(f)
		return doc.Global.Services[1].Hostname, doc.Global.Services[0].Hostname
	}
	for name, c := range map[string]struct {
		wish, held    string
		holder, other string
	}{
		"held":            {"H.global.example.com.", "h.global.example.com", "h.global.example.com", ""},
		"held before":     {"g.global.example.com", "h.global.example.com", "g.global.example.com", "h.global.example.com"},
		"never held":      {"h.global.example.com", "z.demo.global.example.com", "", "h.global.example.com"},
		"no wish":         {"", "h.global.example.com", "", "h.global.example.com"},
		"of another zone": {"h.example.org", "h.example.org", "", "h.global.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			if holder, other := with(c.wish, c.held); holder != c.holder || other != c.other {
				t.Errorf("got %q and %q", holder, other)
			}
		})
	}
}
