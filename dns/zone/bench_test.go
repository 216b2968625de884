// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/weir-io/weir/dns/zone"
)

// large is a table of n services, each in three clusters.
func large(tb testing.TB, n int) *zone.Table {
	tb.Helper()
	g := &zone.Global{Origin: origin}
	var shares []zone.Share
	for i := range 3 {
		name := fmt.Sprintf("c%d", i)
		g.Clusters = append(g.Clusters, zone.Cluster{Name: name, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})}})
		shares = append(shares, zone.Share{Name: name, Weight: uint32(i + 1)})
	}
	for i := range n {
		g.Services = append(g.Services, zone.GlobalService{Namespace: "demo", Name: fmt.Sprintf("s%d", i), Clusters: shares})
	}
	tbl, wrong := zone.Compile(zone.Document{Global: g})
	if wrong != nil {
		tb.Fatal(wrong)
	}
	return tbl
}

func TestALookUpAllocatesNothing(t *testing.T) {
	tbl := large(t, 100)
	for name, q := range map[string]zone.Question{
		"drawn": {Name: "s7.demo." + origin, Type: zone.TypeA, Draw: 1 << 63}, "denied": {Name: "x.demo." + origin, Type: zone.TypeA}, "outside": {Name: "example.org.", Type: zone.TypeA},
	} {
		if n := testing.AllocsPerRun(100, func() { tbl.Lookup(q) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		tbl := large(b, n)
		b.Run(fmt.Sprintf("%d-services", n), func(b *testing.B) {
			b.ReportAllocs()
			draw := uint64(0)
			for b.Loop() {
				draw += 0x9e3779b97f4a7c15
				tbl.Lookup(zone.Question{Name: "s77.demo." + origin, Type: zone.TypeA, Draw: draw})
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		large(b, 10_000)
	}
}
