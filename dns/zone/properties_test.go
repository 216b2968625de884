// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/dns/zone"
)

const origin = "global.example.com."

// documents draws small documents in which names collide now and then, so that some do not compile.
func documents(t *rapid.T) zone.Document {
	address := rapid.Custom(func(t *rapid.T) netip.Addr {
		n := rapid.Byte().Draw(t, "n")
		if rapid.Bool().Draw(t, "v6") {
			return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: n})
		}
		return netip.AddrFrom4([4]byte{192, 0, 2, n})
	})
	addresses := rapid.SliceOfNDistinct(address, 0, 4, rapid.ID[netip.Addr])
	name := rapid.SampledFrom([]string{"a", "b", "ns", "svc", "c"})
	ttl := rapid.Ptr(rapid.Map(rapid.Uint32Range(0, 3600), func(n uint32) zone.TTL { return zone.TTL(n) }), true)
	state := rapid.SampledFrom([]zone.State{"", zone.Synced, zone.Stale, zone.Unsynced})
	d := zone.Document{Serial: rapid.Uint32().Draw(t, "serial"), TTL: ttl.Draw(t, "ttl")}
	if rapid.Bool().Draw(t, "clusterSet") {
		d.ClusterSet = &zone.ClusterSet{State: state.Draw(t, "state")}
		for range rapid.IntRange(0, 3).Draw(t, "services") {
			d.ClusterSet.Services = append(d.ClusterSet.Services, zone.ClusterSetService{
				Namespace: name.Draw(t, "namespace"), Name: name.Draw(t, "name"), TTL: ttl.Draw(t, "ttl"), Addresses: addresses.Draw(t, "addresses"),
			})
		}
	}
	d.Global = &zone.Global{Origin: origin, State: state.Draw(t, "state")}
	clusters := []string{"c1", "c2", "c3"}
	for _, c := range clusters {
		d.Global.Clusters = append(d.Global.Clusters, zone.Cluster{Name: c, Addresses: addresses.Draw(t, c)})
	}
	for range rapid.IntRange(0, 4).Draw(t, "globals") {
		s := zone.GlobalService{Namespace: name.Draw(t, "namespace"), Name: name.Draw(t, "name"), TTL: ttl.Draw(t, "ttl")}
		if rapid.Bool().Draw(t, "named") {
			s.Hostname = name.Draw(t, "host") + "." + origin
		}
		for _, c := range clusters {
			s.Clusters = append(s.Clusters, zone.Share{Name: c, Weight: rapid.Uint32Range(0, 3).Draw(t, "weight")})
		}
		d.Global.Services = append(d.Global.Services, s)
	}
	return d
}

// questions are all names of the document, all above them, and some that are none.
func questions(d zone.Document) []string {
	var out []string
	add := func(name string) {
		for ; name != ""; _, name, _ = strings.Cut(name, ".") {
			out = append(out, name)
		}
	}
	add("x.a.a.svc." + zone.ClusterSetOrigin)
	add("x.a.a." + origin)
	add("zz." + origin)
	if d.ClusterSet != nil {
		for _, s := range d.ClusterSet.Services {
			add(s.Name + "." + s.Namespace + ".svc." + zone.ClusterSetOrigin)
		}
	}
	for _, s := range d.Global.Services {
		add(s.Name + "." + s.Namespace + "." + origin)
		add(s.Hostname)
	}
	return out
}

func compiled(t *rapid.T) (zone.Document, *zone.Table) {
	d := documents(t)
	tbl, wrong := zone.Compile(d)
	if (tbl == nil) != (len(wrong) > 0) {
		t.Fatalf("a table beside %d errors", len(wrong))
	}
	return d, tbl
}

// weightOf is what the document gives a cluster under a name.
func weightOf(d zone.Document, name, cluster string) uint32 {
	for _, s := range d.Global.Services {
		if s.Name+"."+s.Namespace+"."+origin != name && s.Hostname != name {
			continue
		}
		for _, share := range s.Clusters {
			if share.Name == cluster {
				return share.Weight
			}
		}
	}
	return 0
}

func TestAClusterWithWeightZeroIsNeverAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, tbl := compiled(t)
		if tbl == nil {
			return
		}
		for _, target := range tbl.Targets() {
			if weightOf(d, target.Name, target.Cluster) == 0 {
				t.Fatalf("%v is listed", target)
			}
		}
		for _, name := range questions(d) {
			for _, kind := range []uint16{zone.TypeA, zone.TypeAAAA, zone.TypeANY} {
				a := tbl.Lookup(zone.Question{Name: name, Type: kind, Draw: rapid.Uint64().Draw(t, "draw")})
				if a.Target < 0 {
					continue
				}
				target := tbl.Targets()[a.Target]
				if target.Name != name || weightOf(d, name, target.Cluster) == 0 {
					t.Fatalf("%s was answered with %v", name, target)
				}
				i := slices.IndexFunc(d.Global.Clusters, func(c zone.Cluster) bool { return c.Name == target.Cluster })
				for _, address := range a.Addresses {
					if !slices.Contains(d.Global.Clusters[i].Addresses, address) || address.Is4() != (a.Type == zone.TypeA) {
						t.Fatalf("%s in an answer of type %d that names %s", address, a.Type, target.Cluster)
					}
				}
			}
		}
	})
}

func TestANameIsDeniedOnlyInASyncedZoneAndOnlyWithNothingBelowIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, tbl := compiled(t)
		if tbl == nil {
			return
		}
		all := questions(d)
		for _, name := range all {
			a := tbl.Lookup(zone.Question{Name: name, Type: zone.TypeA})
			if a.Rcode != zone.NameError {
				continue
			}
			if a.Zone.State != zone.Synced {
				t.Fatalf("%s is denied in a zone that is %s", name, a.Zone.State)
			}
			for _, other := range all {
				b := tbl.Lookup(zone.Question{Name: other, Type: zone.TypeA})
				if strings.HasSuffix(other, "."+name) && b.Rcode == zone.NoError {
					t.Fatalf("%s is denied, and %s below it exists", name, other)
				}
			}
		}
	})
}

func TestTheTypeOfAQuestionNeverDecidesWhetherANameExists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, tbl := compiled(t)
		if tbl == nil {
			return
		}
		kind := rapid.Uint16().Draw(t, "type")
		for _, name := range questions(d) {
			one := tbl.Lookup(zone.Question{Name: name, Type: zone.TypeA})
			other := tbl.Lookup(zone.Question{Name: name, Type: kind})
			if one.Rcode != other.Rcode {
				t.Fatalf("%s: type 1 gives %d, type %d gives %d", name, one.Rcode, kind, other.Rcode)
			}
			if other.TTL > zone.MaxTTL || other.Reason == zone.FoundStale && other.TTL > zone.StaleTTL {
				t.Fatalf("%s: a TTL of %s", name, other.TTL)
			}
		}
	})
}

func TestADocumentSurvivesItsOwnFormAndGivesTheSameTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, tbl := compiled(t)
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again zone.Document
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatal(err)
		}
		other, _ := zone.Compile(again)
		if diff := cmp.Diff(tbl.Entries(), other.Entries(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestClustersAreDrawnByWeight is Pearson's test on a fixed seed: the bound is that of one false alarm in 1000.
func TestClustersAreDrawnByWeight(t *testing.T) {
	d := zone.Document{Global: &zone.Global{Origin: origin}}
	s := zone.GlobalService{Namespace: "demo", Name: "echo"}
	weights := []uint32{1, 2, 30, 400, 0, 67}
	var total float64
	for i, w := range weights {
		name := fmt.Sprint("c", i)
		d.Global.Clusters = append(d.Global.Clusters, zone.Cluster{Name: name, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})}})
		s.Clusters = append(s.Clusters, zone.Share{Name: name, Weight: w})
		total += float64(w)
	}
	d.Global.Services = []zone.GlobalService{s}
	tbl, wrong := zone.Compile(d)
	if wrong != nil {
		t.Fatal(wrong)
	}
	draws := rand.New(rand.NewPCG(1, 2))
	seen := map[string]float64{}
	const n = 1_000_000
	for range n {
		a := tbl.Lookup(zone.Question{Name: "echo.demo." + origin, Type: zone.TypeA, Draw: draws.Uint64()})
		seen[tbl.Targets()[a.Target].Cluster]++
	}
	var chi float64
	for i, w := range weights {
		want, got := float64(w)/total*n, seen[fmt.Sprint("c", i)]
		if w == 0 {
			if got != 0 {
				t.Errorf("weight 0 was drawn %v times", got)
			}
			continue
		}
		chi += (got - want) * (got - want) / want
	}
	if chi > 18.47 { // 4 degrees of freedom.
		t.Errorf("chi-square %.2f: %v", chi, seen)
	}
}

// FuzzAnyNameIsInTheZoneThatItsLabelsSay compares with the library's way of taking names apart.
func FuzzAnyNameIsInTheZoneThatItsLabelsSay(f *testing.F) {
	for _, seed := range []string{"echo.demo.svc.clusterset.local.", `echo\.clusterset.local.`, `a\\.clusterset.local.`, ".", `\046clusterset.local.`, "clusterset.local."} {
		f.Add(seed)
	}
	tbl, _ := zone.Compile(zone.Document{ClusterSet: &zone.ClusterSet{}, Global: &zone.Global{Origin: origin}})
	f.Fuzz(func(t *testing.T, name string) {
		if _, ok := dns.IsDomainName(name); !ok || !dns.IsFqdn(name) {
			return
		}
		name = strings.ToLower(name)
		a := tbl.Lookup(zone.Question{Name: name, Type: zone.TypeA})
		inside := dns.IsSubDomain(zone.ClusterSetOrigin, name) || dns.IsSubDomain(origin, name)
		if (a.Rcode == zone.Refused) == inside {
			t.Errorf("%q: rcode %d, and within a zone: %v", name, a.Rcode, inside)
		}
	})
}
