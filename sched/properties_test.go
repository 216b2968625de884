// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/match"
)

// decisions checks a property of decisions on random fleets and wishes.
func decisions(t *testing.T, property func(t *rapid.T, views []ClusterView, r Request, d Decision)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		views := fleets(t)
		r := wishes(t, "shop/web")
		property(t, views, r, decideFor(t, views, r))
	})
}

func decideFor(t *rapid.T, views []ClusterView, r Request) Decision {
	fleet, err := NewFleet(views)
	if err != nil {
		t.Fatal(err)
	}
	return NewBatch(fleet, nil).Decide(&r)
}

func TestWhatIsPlacedAndWhatIsNotSumToWhatWasAsked(t *testing.T) {
	decisions(t, func(t *rapid.T, _ []ClusterView, r Request, d Decision) {
		sum := d.Unplaced
		for _, target := range d.Targets {
			sum += target.Replicas
		}
		if sum != r.Replicas || d.Wanted != r.Replicas || d.Unplaced < 0 {
			t.Fatalf("%s of %d", placed(d), r.Replicas)
		}
	})
}

func TestNothingNewIsPlacedWhereItDoesNotFit(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		for _, v := range views {
			fits := int64(0)
			for _, n := range v.Nodes {
				each := n.Free["cpu"] / r.Pod.Need["cpu"]
				if r.Pod.Apart {
					each = min(each, 1)
				}
				fits += n.Count * each
			}
			current := r.Current[v.Cluster]
			if got := d.Replicas(v.Cluster); got > current.Replicas && got-(current.Replicas-current.Waiting) > fits {
				t.Fatalf("%s gets %d, and %d fit beside %+v", v.Cluster, got, fits, current)
			}
		}
	})
}

func TestAClusterThatCountsAsFullKeepsWhatRunsAndGetsNothing(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		for _, v := range views {
			current := r.Current[v.Cluster]
			closed := !v.Seen || v.Health == filter.Dead || v.Health == filter.Partitioned || v.Confidence == 0 || len(v.Taints) > 0
			if got := d.Replicas(v.Cluster); r.Full[v.Cluster] && !closed && got > current.Replicas-current.Waiting {
				t.Fatalf("%s gets %d beside %+v", v.Cluster, got, current)
			}
		}
	})
}

func TestAClusterThatMayNotHoldAnythingHoldsNothing(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		for _, v := range views {
			taint, repelled := match.Repelled(v.Taints, nil)
			hard := repelled && taint.Effect != match.PreferNoSchedule
			got, stood := d.Replicas(v.Cluster), r.Current[v.Cluster].Replicas
			out := v.Duty == filter.Drained || len(r.Where.Fields) > 0 && v.Region != "north" || hard && taint.Effect == match.NoExecute
			closed := hard || !v.Seen || v.Health == filter.Dead || v.Health == filter.Partitioned
			if out && got > 0 || closed && got > stood {
				t.Fatalf("%+v: %s", v, placed(d))
			}
		}
	})
}

func TestEveryClusterThatHoldsNothingHasAReason(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		told := map[string]bool{}
		for _, because := range d.Reasons {
			if because.Code == "" || because.Message == "" {
				t.Fatalf("%+v", because)
			}
			told[because.Cluster] = true
		}
		if d.Unplaced > 0 && len(d.Reasons) == 0 {
			t.Fatal("replicas are left without a reason")
		}
		for _, v := range views {
			b := r.bounds(v.Cluster)
			if got := d.Replicas(v.Cluster); !told[v.Cluster] && (got == 0 && r.Replicas > 0 || got < min(b.Min, b.Max, r.Replicas)) {
				t.Fatalf("%s: nothing is said of %s", placed(d), v.Cluster)
			}
		}
	})
}

func TestOneMoreReplicaWantedLowersNoCluster(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		r.Replicas++
		more := decideFor(t, views, r)
		for _, target := range d.Targets {
			if more.Replicas(target.Cluster) < target.Replicas {
				t.Fatalf("%s, and with one more %s", placed(d), placed(more))
			}
		}
	})
}

func TestADecisionThatStandsIsDecidedAgain(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		// The views have not seen the new pods yet, which therefore wait.
		next := map[string]Placement{}
		for _, target := range d.Targets {
			next[target.Cluster] = Placement{target.Replicas, target.New + target.Waiting}
		}
		r.Current = next
		again := decideFor(t, views, r)
		if diff := cmp.Diff(replicas(d), replicas(again)); diff != "" {
			t.Fatalf("(-first +second)\n%s", diff)
		}
	})
}

func replicas(d Decision) map[string]int64 {
	out := map[string]int64{"": d.Unplaced}
	for _, target := range d.Targets {
		out[target.Cluster] = target.Replicas
	}
	return out
}

func TestTheOrderOfViewsChangesNothing(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		if diff := cmp.Diff(d, decideFor(t, shuffled(t, views), r)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestADecisionIsFreshlyItselfWhateverTheBatchDecidedBefore(t *testing.T) {
	decisions(t, func(t *rapid.T, views []ClusterView, r Request, d Decision) {
		fleet, err := NewFleet(views)
		if err != nil {
			t.Fatal(err)
		}
		b := NewBatch(fleet, nil)
		other := wishes(t, "shop/other")
		b.Decide(&other)
		b.Decide(&r)
		b.Release("shop/other")
		if diff := cmp.Diff(d, b.Decide(&r)); diff != "" {
			t.Fatal(diff)
		}
	})
}
