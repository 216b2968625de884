// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/weir-io/weir/resview/pb"
)

func TestSnapshotNeverChangesOnceItIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		a.set(service("cart", "0"))
		a.InventoryListed()
		wait(time.Second)
		seen := map[*Snapshot]map[string]string{}
		for i := range 50 {
			s := h.Snapshot("c1")
			seen[s] = maps.Clone(versions(s))
			a.set(service("cart", fmt.Sprint(i)), service(fmt.Sprintf("s%d", i), "1"))
			if i%7 == 0 {
				a.RemoveService(key(fmt.Sprintf("s%d", i/2)))
			}
			wait(3 * time.Millisecond)
		}
		wait(time.Second)
		if len(seen) < 5 {
			t.Fatalf("%d snapshots in 150 ms of changes", len(seen))
		}
		for s, then := range seen {
			if diff := cmp.Diff(then, versions(s)); diff != "" {
				t.Fatalf("snapshot %d changed (-then +now):\n%s", s.Version, diff)
			}
		}
		if got := versions(h.Snapshot("c1"))["cart"]; got != "49" {
			t.Errorf("cart ended as %s, want 49", got)
		}
	})
}

// Meant for the race detector: readers take no lock, so nothing that they see may be written.
func TestReadersAndWritersDoNotMeet(t *testing.T) {
	server := &Server{now: time.Now, metrics: newServerMetrics()}
	h := server.newMember("c1", "")
	s := &session{over: make(chan struct{}), newWants: make(chan struct{}, 1)}
	if why := h.begin(s, &pb.Hello{Incarnation: 1}); why != nil {
		t.Fatal(why)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := uint64(0)
			for {
				snapshot := h.current.Load()
				if snapshot.Version < last {
					t.Errorf("version fell from %d to %d", last, snapshot.Version)
				}
				last = snapshot.Version
				for _, fact := range snapshot.Services {
					_ = fact.Value.GetResourceVersion()
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 2000 {
		if why := h.apply(s, &pb.AgentMessage{Body: &pb.AgentMessage_Service{Service: service(fmt.Sprintf("s%d", i%50), fmt.Sprint(i))}}); why != nil {
			t.Fatal(why)
		}
	}
	h.end(s, "test is over")
	close(done)
	readers.Wait()
	if n := len(h.current.Load().Services); n != 50 {
		t.Errorf("%d services, want 50", n)
	}
}

func TestSubscriptionTellsWhatChangedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		sub := h.Subscribe()
		defer sub.Close()
		closed := h.Subscribe()
		closed.Close()
		a := h.startAgent("c1")
		a.set(service("cart", "1"))
		a.InventoryListed()
		wait(time.Second)
		for i := range 20 {
			a.set(service("cart", fmt.Sprint(i)))
			wait(time.Second)
		}
		select {
		case <-sub.C():
		default:
			t.Error("no wake-up though there are changes")
		}
		if diff := cmp.Diff(map[Change]bool{{Cluster: "c1"}: true, {Cluster: "c1", Service: key("cart")}: true}, set(sub.Take())); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		wait(time.Minute) // Beats go on, and are no change.
		if got := sub.Take(); len(got) != 0 {
			t.Errorf("changes at rest: %v", got)
		}
		a.halt()
		wait(time.Second)
		h.Forget("c2")
		if diff := cmp.Diff(map[Change]bool{{Cluster: "c1"}: true, {Cluster: "c2"}: true}, set(sub.Take())); diff != "" {
			t.Errorf("changes after a disconnect and a removal (-want +got):\n%s", diff)
		}
		if got := closed.Take(); len(got) != 0 {
			t.Errorf("a closed subscription got %v", got)
		}
	})
}

func set(changes []Change) map[Change]bool {
	out := map[Change]bool{}
	for _, c := range changes {
		out[c] = true
	}
	return out
}

func TestSnapshotsAreSortedAndOfAdmittedMembersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		if err := h.Admit("a0", Settings{}); err != nil {
			t.Fatal(err)
		}
		if err := h.Admit("No", Settings{}); err == nil {
			t.Error("a cluster with an odd name was admitted")
		}
		var names []string
		for _, s := range h.Snapshots() {
			names = append(names, s.Cluster)
		}
		if !slices.Equal(names, []string{"a0", "c1", "c2"}) || h.Snapshot("c9") != nil {
			t.Errorf("snapshots of %q, and of c9: %v", names, h.Snapshot("c9"))
		}
	})
}

func TestFactsAgeFromReceiptAndNeverBackwards(t *testing.T) {
	received := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fact := Fact[int]{ReceivedAt: received}
	for name, test := range map[string]struct {
		now        time.Time
		old, wants time.Duration
	}{
		"fresh": {received, 0, 0}, "was old": {received.Add(time.Second), 2 * time.Second, 3 * time.Second},
		"clock stepped back": {received.Add(-time.Hour), time.Second, time.Second}, "negative": {received, -time.Second, 0},
	} {
		if got := fact.Age(test.now, test.old); got != test.wants {
			t.Errorf("%s: %s, want %s", name, got, test.wants)
		}
	}
}

func TestMetricsKeepToTheConventions(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	if err := newServerMetrics().register(registry); err != nil {
		t.Fatal(err)
	}
	if err := newClientMetrics().register(registry); err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) != 0 {
		t.Errorf("problems: %v (%v)", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "weir_") {
			t.Errorf("metric %s does not begin with weir_", f.GetName())
		}
	}
}
