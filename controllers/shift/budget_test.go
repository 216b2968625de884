// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-io/weir/api/v1alpha1"
)

func atLeast(n int32, unit v1alpha1.BudgetUnit) v1alpha1.DisruptionBudget {
	return v1alpha1.DisruptionBudget{Name: "web", MinAvailable: new(n), Unit: unit}
}

func away(n int32, unit v1alpha1.BudgetUnit) v1alpha1.DisruptionBudget {
	return v1alpha1.DisruptionBudget{Name: "web", MaxUnavailable: new(n), Unit: unit}
}

func TestABudgetIsANumberOfReadyCopiesOverAllClusters(t *testing.T) {
	const pods, percent = v1alpha1.BudgetPods, v1alpha1.BudgetPercent
	others := func(b v1alpha1.DisruptionBudget, n, ready int32) v1alpha1.DisruptionBudget {
		b.OtherPods, b.OtherReady = n, ready
		return b
	}
	for name, c := range map[string]struct {
		budget v1alpha1.DisruptionBudget
		want   int32 // of nine that are wanted
	}{
		"five of them":                       {atLeast(5, pods), 5},
		"more than there are":                {atLeast(12, pods), 12},
		"half":                               {atLeast(50, percent), 5},
		"all":                                {atLeast(100, percent), 9},
		"none":                               {atLeast(0, percent), 0},
		"one may be away":                    {away(1, pods), 8},
		"none may be away":                   {away(0, pods), 9},
		"a third may be away":                {away(33, percent), 6},
		"more may be away than there are":    {away(20, pods), 0},
		"it asks for nothing":                {v1alpha1.DisruptionBudget{Unit: pods}, 0},
		"others are ready for it":            {others(atLeast(5, pods), 3, 2), 3},
		"others are enough":                  {others(atLeast(5, pods), 9, 9), 0},
		"others are not ready":               {others(away(1, pods), 3, 1), 10},
		"half of all that it selects":        {others(atLeast(50, percent), 11, 11), 0},
		"as many as anybody may tell of":     {atLeast(1_000_000, pods), 1_000_000},
		"of as many others as can be told":   {others(away(0, pods), 1_000_000, 0), 1_000_009},
		"all of as many others as can stand": {others(atLeast(100, percent), 1_000_000, 1_000_000), 9},
	} {
		if got := readyFor(&c.budget, 9); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestTheStrictestBudgetOfAllClustersCounts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		number := rapid.Int32Range(0, 1_000_000)
		wanted := rapid.Int32Range(0, maxReady).Draw(r, "wanted")
		clusters := make([]v1alpha1.GlobalServiceClusterStatus, rapid.IntRange(0, 3).Draw(r, "clusters"))
		most := int32(0)
		for i := range clusters {
			for range rapid.IntRange(0, 3).Draw(r, "budgets") {
				b := atLeast(number.Draw(r, "amount"), rapid.SampledFrom([]v1alpha1.BudgetUnit{v1alpha1.BudgetPods, v1alpha1.BudgetPercent}).Draw(r, "unit"))
				if rapid.Bool().Draw(r, "away") {
					b.MinAvailable, b.MaxUnavailable = nil, b.MinAvailable
				}
				b.OtherPods = number.Draw(r, "others")
				b.OtherReady = min(number.Draw(r, "ready"), b.OtherPods)
				clusters[i].Budgets = append(clusters[i].Budgets, b)
				most = max(most, readyFor(&b, wanted))
			}
		}
		if got := strictestOf(clusters, wanted); got.ready != most || got.ready < 0 || got.ready > maxReady || (got.name == "") != (most == 0) {
			r.Errorf("%+v, want %d", got, most)
		}
	})
}

// budget puts a budget into a cluster, as its agent tells of it; a Unit that is empty takes it away.
func (w *ownedWorld) budget(cluster string, b v1alpha1.DisruptionBudget) {
	w.Helper()
	gs := w.service()
	for i := range gs.Status.Clusters {
		if c := &gs.Status.Clusters[i]; c.Name == cluster {
			c.Budgets = nil
			if b.Unit != "" {
				c.Budgets = []v1alpha1.DisruptionBudget{b}
			}
		}
	}
	if err := w.hub.Status().Update(w.Context(), gs); err != nil {
		w.Fatal(err)
	}
}

func TestABudgetOfTheClusterThatIsDrainedIsMetByCopiesElsewhere(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.settle()
	w.budget("c2", away(1, v1alpha1.BudgetPods))
	w.budget("c1", atLeast(100, v1alpha1.BudgetPercent))
	w.ask("c2", v1alpha1.GoalDrain)
	w.decide([]string{"c2"}, 5, 0, 4)
	gs := w.settle()
	if planned(gs)["c2"] != 0 || len(gs.Status.Shift.Blocked) > 0 {
		t.Errorf("planned %v, %+v", planned(gs), gs.Status.Shift.Blocked)
	}
}

func TestNoCopyGoesThatABudgetWantsAndItIsNamed(t *testing.T) {
	w := newOwned(t, 3, 3, 3)
	w.settle()
	w.budget("c3", atLeast(7, v1alpha1.BudgetPods))
	w.decide(nil, 2, 2, 2)
	gs := w.settle()
	left := planned(gs)["c1"] + planned(gs)["c2"] + planned(gs)["c3"]
	i := slices.IndexFunc(gs.Status.Shift.Blocked, func(b v1alpha1.Blocker) bool { return b.Code == "DisruptionBudget" })
	if left != 7 || i < 0 {
		t.Fatalf("planned %v, blocked %+v", planned(gs), gs.Status.Shift.Blocked)
	}
	if b := gs.Status.Shift.Blocked[i]; b.Subject != "web of c3" || !strings.Contains(b.Message, "web of c3") || !strings.Contains(b.Message, "wants 7 replicas ready over all clusters and 6") {
		t.Errorf("told as %+v", b)
	}
	w.budget("c3", v1alpha1.DisruptionBudget{})
	w.atRest(w.settle(), 2, 2, 2)
}
