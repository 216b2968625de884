// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A problem is what Divide takes.
type problem struct {
	total     int64
	clusters  []Cluster
	rebalance bool
}

func (p problem) divide() []int64 {
	return slices.Clone(new(Divider).Divide(p.total, p.clusters, p.rebalance).Replicas)
}

func (p problem) with(total int64) problem { p.total = total; return p }

// after is the problem once its answer stands.
func (p problem) after(answer []int64) problem {
	p.clusters = slices.Clone(p.clusters)
	for i := range p.clusters {
		p.clusters[i].Present = answer[i]
	}
	return p
}

func (p problem) floors() []int64 {
	floors := make([]int64, len(p.clusters))
	for i, c := range p.clusters {
		floors[i] = min(c.Min, c.Max, c.Room)
	}
	return floors
}

func often(t *rapid.T, name string, usual int64, unusual *rapid.Generator[int64]) int64 {
	if rapid.IntRange(0, 2).Draw(t, name+"Usual") > 0 {
		return usual
	}
	return unusual.Draw(t, name)
}

// problems draws problems of up to n clusters; how many replicas are wanted is about what the clusters hold.
func problems(n int, size int64) *rapid.Generator[problem] {
	number := rapid.Int64Range(0, size)
	return rapid.Custom(func(t *rapid.T) problem {
		p := problem{rebalance: rapid.Bool().Draw(t, "rebalance")}
		for range rapid.IntRange(1, n).Draw(t, "clusters") {
			c := Cluster{
				Weight: rapid.Int64Range(0, 9).Draw(t, "weight"), Min: often(t, "min", 0, number), Max: often(t, "max", Unlimited, number),
				Room: often(t, "room", Unlimited, number), Present: often(t, "present", 0, number),
				First:  rapid.IntRange(0, 3).Draw(t, "first") == 0,
				Frozen: rapid.IntRange(0, 3).Draw(t, "frozen") == 0, Tie: rapid.Uint64Range(0, 2).Draw(t, "tie"),
			}
			c.NewWeight = c.Weight
			if rapid.Bool().Draw(t, "less") {
				c.NewWeight = rapid.Int64Range(0, c.Weight).Draw(t, "newWeight")
			}
			p.clusters = append(p.clusters, c)
		}
		p.total = rapid.Int64Range(0, size*int64(len(p.clusters))).Draw(t, "total")
		return p
	})
}

// holds checks a property on random problems.
func holds(t *testing.T, property func(t *rapid.T, p problem, got []int64)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		p := problems(8, 9).Draw(t, "problem")
		property(t, p, p.divide())
	})
}

func TestReplicasGivenAndLeftSumToTheTotal(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		left := new(Divider).Divide(p.total, p.clusters, p.rebalance).Unplaced
		if sum(got)+left != p.total || left < 0 || slices.Min(got) < 0 {
			t.Fatalf("%v and %d left of %d", got, left, p.total)
		}
	})
}

func TestNothingIsLeftWhereThereIsRoomAndWeight(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		if sum(got) == p.total {
			return
		}
		for i, c := range p.clusters {
			if c.NewWeight > 0 && got[i] < min(c.Max, c.Room) {
				t.Fatalf("%d are left, and cluster %d could have more than %d", p.total-sum(got), i, got[i])
			}
		}
	})
}

func TestOneMoreReplicaLowersNobody(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		more := p.with(p.total + 1).divide()
		for i := range got {
			if more[i] < got[i] {
				t.Fatalf("%v of %d, and %v of one more", got, p.total, more)
			}
		}
	})
}

func TestMoreRoomOrWeightNeverLowersWhoGotIt(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		i := rapid.IntRange(0, len(got)-1).Draw(t, "who")
		more := p.after(standing(p)) // a copy
		more.clusters[i].Room = min(more.clusters[i].Room+1, Unlimited)
		more.clusters[i].NewWeight++
		more.clusters[i].Weight++
		if after := more.divide(); after[i] < got[i] {
			t.Fatalf("%v, and %v with more for cluster %d", got, after, i)
		}
	})
}

// standing is what stands in a problem.
func standing(p problem) []int64 {
	present := make([]int64, len(p.clusters))
	for i, c := range p.clusters {
		present[i] = c.Present
	}
	return present
}

func TestNobodyIsAboveItsMaximumOrItsRoom(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		for i, c := range p.clusters {
			if got[i] > c.Max || got[i] > c.Room {
				t.Fatalf("cluster %d has %d: %+v", i, got[i], c)
			}
		}
	})
}

func TestADrainEmptiesAClusterWhateverItsMinimum(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, _ []int64) {
		i := rapid.IntRange(0, len(p.clusters)-1).Draw(t, "drained")
		p.clusters[i].Max = 0
		if got := p.divide(); got[i] != 0 {
			t.Fatalf("%v: cluster %d is drained", got, i)
		}
	})
}

func TestTheMinimumIsAFloorUnderTheShare(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		floors := p.floors()
		if p.total < sum(floors) {
			return
		}
		for i := range got {
			if got[i] < floors[i] {
				t.Fatalf("%v, under the floors %v", got, floors)
			}
		}
		// A minimum that the share reaches anyhow changes nothing.
		for i := range p.clusters {
			p.clusters[i].Min = min(p.clusters[i].Min, got[i])
		}
		if again := p.divide(); !slices.Equal(again, got) {
			t.Fatalf("%v, and %v with minima that do not bind", got, again)
		}
	})
}

func TestMinimaOverTheTotalAreFilledOneByOne(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		floors := p.floors()
		if p.total > sum(floors) {
			return
		}
		for i := range got {
			for j := range got {
				same := p.clusters[i].First == p.clusters[j].First
				if same && got[i] > got[j]+1 && got[j] < floors[j] || got[i] > floors[i] {
					t.Fatalf("%v under the floors %v", got, floors)
				}
			}
		}
	})
}

func TestMinimaThatComeFirstAreFilledFirst(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		floors := p.floors()
		for i, c := range p.clusters {
			for j, d := range p.clusters {
				if c.First && !d.First && got[i] < floors[i] && got[j] > 0 {
					t.Fatalf("%v under the floors %v: %d comes before %d", got, floors, i, j)
				}
			}
		}
	})
}

func TestFedItsOwnAnswerItGivesItAgain(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		if again := p.after(got).divide(); !slices.Equal(again, got) {
			t.Fatalf("%v, then %v", got, again)
		}
	})
}

func TestAClusterOfWeightZeroGetsNothingNew(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		for i, c := range p.clusters {
			if c.NewWeight == 0 && got[i] > max(c.Min, c.Present) {
				t.Fatalf("%v: cluster %d takes nothing new", got, i)
			}
		}
	})
}

func TestWithAllWeightsZeroOnlyMinimaArePlaced(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, _ []int64) {
		p = p.after(make([]int64, len(p.clusters)))
		for i := range p.clusters {
			p.clusters[i].Weight, p.clusters[i].NewWeight = 0, 0
		}
		if got, want := sum(p.divide()), min(p.total, sum(p.floors())); got != want {
			t.Fatalf("%d are placed, and the minima are %d", got, want)
		}
	})
}

func TestShrinkingTakesOnlyFromWhoIsAboveItsShare(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, _ []int64) {
		for i := range p.clusters {
			p.clusters[i].Frozen, p.clusters[i].NewWeight = false, p.clusters[i].Weight
		}
		p.rebalance = true
		share := p.divide()
		p.rebalance = false
		got := p.divide()
		for i, c := range p.clusters {
			stands := min(c.Present, c.Max, c.Room)
			if got[i] < stands && got[i] < share[i] {
				t.Fatalf("%v of %+v: cluster %d is not above its share %v", got, p, i, share)
			}
		}
	})
}

func TestAFrozenClusterLosesOnlyToMinimaItsLimitsAndTheTotal(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, got []int64) {
		needed := make([]int64, len(p.clusters)) // minima, and what frozen clusters have
		for i, c := range p.clusters {
			needed[i] = min(c.Min, c.Max, c.Room)
			if c.Frozen {
				needed[i] = max(needed[i], min(c.Present, c.Max, c.Room))
			}
		}
		for i, c := range p.clusters {
			if c.Frozen && p.total >= sum(needed) && got[i] < min(c.Present, c.Max, c.Room) {
				t.Fatalf("%v: cluster %d is frozen", got, i)
			}
		}
	})
}

func TestHalfTheWeightForNewReplicasRemovesNone(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, _ []int64) {
		stands := sum(standing(p))
		p.rebalance = false
		for i := range p.clusters {
			p.clusters[i].Min, p.clusters[i].Max, p.clusters[i].Room = 0, Unlimited, Unlimited
		}
		p.total = stands + p.total
		for i, n := range p.divide() {
			if n < p.clusters[i].Present {
				t.Fatalf("cluster %d loses one", i)
			}
		}
	})
}

func TestTheOrderOfTheListChangesNothing(t *testing.T) {
	holds(t, func(t *rapid.T, p problem, _ []int64) {
		order := make([]int, len(p.clusters))
		for i := range p.clusters {
			p.clusters[i].Tie, order[i] = uint64(i), i
		}
		got := p.divide()
		shuffled := rapid.Permutation(order).Draw(t, "order")
		q := p.after(standing(p)) // a copy
		for to, from := range shuffled {
			q.clusters[to] = p.clusters[from]
		}
		for to, n := range q.divide() {
			if n != got[shuffled[to]] {
				t.Fatalf("%v changes with the order %v", got, shuffled)
			}
		}
	})
}

// Among all divisions that keep the rules, found by trying each, none moves less.
func TestNoLegalDivisionMovesLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems(4, 5).Draw(t, "problem")
		p.rebalance = false
		floors := p.floors()
		got := p.divide()
		placed := sum(got)
		if p.total < sum(floors) {
			return // the minima alone decide.
		}
		moved := func(division []int64) int64 {
			n := int64(0)
			for i, c := range p.clusters {
				n += max(0, c.Present-division[i])
			}
			return n
		}
		mine := moved(got)
		legal(p, floors, placed, func(other []int64) {
			if moved(other) < mine {
				t.Fatalf("%v moves %d, and %v moves %d", got, mine, other, moved(other))
			}
		})
	})
}

// legal visits every division of placed replicas above the floors and within the limits.
func legal(p problem, floors []int64, placed int64, visit func([]int64)) {
	division := make([]int64, len(floors))
	var next func(i int, left int64)
	next = func(i int, left int64) {
		if i == len(division) {
			if left == 0 {
				visit(division)
			}
			return
		}
		for n := floors[i]; n <= min(left, p.clusters[i].Max, p.clusters[i].Room); n++ {
			division[i] = n
			next(i+1, left-n)
		}
	}
	next(0, placed)
}

// A fresh division without limits is Webster's, at any size: no replica would be worth more elsewhere.
func TestAFreshDivisionIsProportional(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problem{total: rapid.Int64Range(0, MaxTotal).Draw(t, "total")}
		for range rapid.IntRange(1, 30).Draw(t, "clusters") {
			w := rapid.Int64Range(1, MaxWeight).Draw(t, "weight")
			p.clusters = append(p.clusters, Cluster{Weight: w, NewWeight: w, Max: Unlimited, Room: Unlimited})
		}
		got := p.divide()
		if sum(got) != p.total {
			t.Fatalf("%v of %d", got, p.total)
		}
		var least, most *big.Rat // of the last replicas given, of the next ones
		for i, c := range p.clusters {
			if next := big.NewRat(c.Weight, 2*got[i]+1); most == nil || next.Cmp(most) > 0 {
				most = next
			}
			if got[i] == 0 {
				continue
			}
			if last := big.NewRat(c.Weight, 2*got[i]-1); least == nil || last.Cmp(least) < 0 {
				least = last
			}
		}
		if least != nil && least.Cmp(most) < 0 {
			t.Fatalf("%v: a replica is worth %v where it is and %v elsewhere", got, least, most)
		}
	})
}
