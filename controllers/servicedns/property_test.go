// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/dns/zone"
)

// Whatever plans, annotations, failed writes, restarts and clients do: what is answered is on record as Named, and nothing is
// on record as Expired or Unused that a client may still hold.
func TestWhatIsOnRecordIsNeverLessThanWhatClientsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, append(three(), serviceOf("echo", nil, "c1", "c2", "c3"))...)
		held := map[string]time.Time{} // until when some client may hold a member, as clients know it
		for range rapid.IntRange(4, 16).Draw(rt, "steps") {
			cluster := rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(rt, "cluster")
			switch rapid.SampledFrom([]string{"out", "in", "fence", "weight", "wish", "address", "restart", "fail", "mend", "wait", "ask", "ask"}).Draw(rt, "what") {
			case "out":
				w.plan("echo", cluster, v1alpha1.DNSWithdrawn)
			case "in":
				w.plan("echo", cluster, v1alpha1.DNSNamed)
			case "fence":
				entry := rapid.SampledFrom([]v1alpha1.PodAdmission{v1alpha1.PodsOpen, v1alpha1.PodsFenced}).Draw(rt, "entry")
				w.change("echo", func(gs *v1alpha1.GlobalService) { gs.Spec.Clusters[0].NewPods = entry })
			case "weight":
				ready := rapid.Int32Range(0, 1).Draw(rt, "ready")
				w.change("echo", func(gs *v1alpha1.GlobalService) {
					gs.Spec.Clusters[1].Weight, gs.Spec.Clusters[2].Weight, gs.Status.Clusters[1].Ready = 0, 666, ready
				})
			case "wish":
				wish := v1alpha1.NameWishes{
					Hostname: rapid.SampledFrom([]string{"", "a.global.example.com", "b.global.example.com", "?"}).Draw(rt, "host"),
					TTL:      rapid.SampledFrom([]string{"", "1s", "20s", "?"}).Draw(rt, "ttl"),
				}
				w.change("echo", func(gs *v1alpha1.GlobalService) { gs.Status.NameWishes = &wish })
			case "address":
				c := memberOf("c3")
				if err := w.hub.Get(context.Background(), client.ObjectKeyFromObject(c), c); err != nil {
					rt.Fatal(err)
				}
				c.Spec.IngressAddresses = rapid.SampledFrom([][]string{nil, {"198.51.100.3"}, {"0.0.0.0"}}).Draw(rt, "addresses")
				if err := w.hub.Update(context.Background(), c); err != nil {
					rt.Fatal(err)
				}
			case "restart":
				w.restart()
			case "fail":
				w.refuse = func(string) bool { return true }
			case "mend":
				w.refuse = nil
			case "wait":
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 9000).Draw(rt, "ms")) * time.Millisecond)
			case "ask":
				for _, host := range []string{own, "a.global.example.com", "b.global.example.com"} {
					if w.server.table == nil || !w.server.ask(host, cluster) {
						continue
					}
					held[cluster] = later(held[cluster], w.server.given[zone.Target{Name: host + ".", Cluster: cluster}])
				}
			}
			if rapid.Bool().Draw(rt, "look") {
				if _, err := w.look(); err != nil && w.refuse == nil {
					rt.Fatal(err)
				}
			}
			w.judge(rt, held)
		}
	})
}

func (w *world) judge(rt *rapid.T, held map[string]time.Time) {
	gs := w.get("echo")
	for _, cluster := range []string{"c1", "c2", "c3"} {
		answered := slices.ContainsFunc(w.server.table.Targets(), func(t zone.Target) bool { return t.Cluster == cluster })
		row := rowOf(gs, cluster)
		gone := row == nil || row.Standing == v1alpha1.StandingExpired || row.Standing == v1alpha1.StandingUnused
		switch {
		case answered && (row == nil || row.Standing != v1alpha1.StandingNamed):
			rt.Fatalf("%s is answered, and on record as %+v", cluster, row)
		case gone && held[cluster].After(w.now):
			rt.Fatalf("a client holds %s until %v, and at %v it is on record as %+v", cluster, held[cluster], w.now, row)
		}
	}
}
