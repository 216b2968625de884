// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// Invariant is one of the promises that hold in every state weir can bring about.
type Invariant uint8

// The closed list of invariants; the numbers are those of the package text.
const (
	// Fits is 1: replicas go down only as far as what may still arrive fits.
	Fits Invariant = iota + 1
	// Emptied is 2: pods go fenced, quiet, idle, the last one after DNS.
	Emptied
	// Carried is 3: weight rises only on ready pods and falls only if others take it.
	Carried
	// Routed is 4: two destinations, never all zero, nothing new to the blind.
	Routed
	// Kept is 5: the last ready copy stays, and so do those of a budget.
	Kept
	// Backwards is 6: what comes back comes replicas first, then unfenced, then weights.
	Backwards
	// Ends is 7, as far as one step shows it: Done and Finished are true.
	Ends
	// OneWrite is the rule beside them: one unproven write in flight at most, and none
	// beside another writer.
	OneWrite
)

var invariantNames = []string{"", "Fits", "Emptied", "Carried", "Routed", "Kept", "Backwards", "Ends", "OneWrite"}

// String returns the name of the invariant.
func (v Invariant) String() string { return nameOf(invariantNames, uint8(v)) }

// Violations is the oracle: it reads the invariants anew and shares no guard with
// [Next]. before is what is *true* when the step is done: HeldLo and HeldHi span what
// proxies use, a proof is Proven only if every one of them has it, and leases are as
// weir believes them. after is before with the step carried out.
//
// It is for tests and for auditing recorded runs; the product never asks it.
func Violations(before State, step Step, after State) []Invariant {
	o := oracle{b: &before, a: &after, step: &step, weights: before.Steering == Always && len(before.Clusters) > 1}
	var broken []Invariant
	for _, rule := range []struct {
		v    Invariant
		hold func() bool
	}{
		{Fits, o.fits},
		{Emptied, o.emptied},
		{Carried, o.carried},
		{Routed, o.routed},
		{Kept, o.kept},
		{Backwards, o.backwards},
		{Ends, o.ends},
		{OneWrite, o.oneWrite},
	} {
		if !rule.hold() {
			broken = append(broken, rule.v)
		}
	}
	return broken
}

type oracle struct {
	b, a    *State
	step    *Step
	weights bool
}

// enough reports share × demand ≤ pods, to the permille.
func enough(share Permille, demand, pods int32) bool {
	return share == 0 || pods > 0 && int64(share)*int64(demand) < int64(pods)*1000+int64(demand)
}

// there reports whether a true proof stands and its lease holds.
func there(q Proof) bool { return q.Lease == Fresh && (q.Level == Proven || q.Level == Timed) }

// open counts the pods outside the fence that somebody sees.
func open(c *Cluster) int32 {
	if c.Sight != Seen {
		return 0
	}
	return c.Ready - c.Fenced
}

// goes reports whether the cluster shall end without traffic: the user drains it, or its
// last pods shall go.
func (o *oracle) goes(c *Cluster) bool {
	if c.Goal == Drain {
		return true
	}
	return o.b.Replicas == Owned && !o.keptByScaler(c) && o.end(c).Replicas == 0 && (c.Goal == Move || c.Applied > 0 || c.Ready > 0)
}

// end is what c shall hold in the end: its start, where aborts are all that is asked
// for, else its target.
func (o *oracle) end(c *Cluster) Place {
	aborts := false
	for i := range o.b.Clusters {
		g := o.b.Clusters[i].Goal
		if g == Drain || g == Undrain || g == Move {
			return c.Target
		}
		aborts = aborts || g == Abort
	}
	if aborts {
		return c.Before
	}
	return c.Target
}

// leavingPods is how many ready pods of cluster i the step takes away at least.
func (o *oracle) leavingPods(i int) int32 {
	b, a := &o.b.Clusters[i], &o.a.Clusters[i]
	if a.Applied >= b.Applied {
		return 0
	}
	return max(0, b.Ready-a.Applied)
}

// whole reports whether the fence of c is whole and no proxy holds one of its pods.
func (o *oracle) whole(c *Cluster) bool {
	return c.Entry == Shut && c.Fenced == c.Ready && there(o.b.Fence)
}

func (o *oracle) fits() bool {
	for i := range o.b.Clusters {
		b := &o.b.Clusters[i]
		if o.a.Clusters[i].Applied >= b.Applied {
			continue
		}
		left := min(b.Ready-b.Fenced, o.a.Clusters[i].Applied)
		if !o.weights {
			if !there(o.b.Fence) && b.Ready > left {
				return false
			}
			continue
		}
		arrives := b.HeldHi
		if o.goes(b) && !o.whole(b) {
			arrives += o.largestOther(i)
		}
		if !enough(arrives, o.b.Demand, left) {
			return false
		}
	}
	return true
}

// largestOther is the most that the reflex may send when one other cluster empties.
func (o *oracle) largestOther(i int) Permille {
	var most Permille
	for j := range o.b.Clusters {
		if j != i {
			most = max(most, o.b.Clusters[j].HeldHi)
		}
	}
	return most
}

func (o *oracle) emptied() bool {
	for i := range o.b.Clusters {
		b, a := &o.b.Clusters[i], &o.a.Clusters[i]
		if a.Applied < b.Applied && o.busy(b, RollingOut) {
			return false // Which pods would go, nobody can say.
		}
		if a.Applied >= b.Applied {
			continue
		}
		if !o.goes(b) && a.Applied > 0 && o.leavingPods(i) == 0 && o.proven() && b.Sight == Seen {
			continue // Pods that never were ready have nothing to be emptied of.
		}
		if o.leavingPods(i) > b.Fenced || !o.mayEnd(b, a.Applied == 0) {
			return false
		}
	}
	return true
}

// proven reports whether both proofs stand: of the fence, and of weights where there are any.
func (o *oracle) proven() bool { return there(o.b.Fence) && (!o.weights || there(o.b.Weights)) }

// mayEnd reports whether the fenced pods of c, or its last ones, may end.
func (o *oracle) mayEnd(c *Cluster, last bool) bool {
	switch {
	case !o.proven(), c.Sight != Seen:
		return false
	case c.Quiet != Twice && c.Quiet != Overdue, c.InFlight != NoWork && c.InFlight != WorkOverdue:
		return false
	}
	return !last || c.DNS == Expired || c.DNS == Unused
}

func (o *oracle) carried() bool {
	for i := range o.b.Clusters {
		b, a := &o.b.Clusters[i], &o.a.Clusters[i]
		rises := o.rewrites() && a.Wrote > b.Wrote
		if rises && (b.Entry == Shut || o.busy(b, RollingOut) || !enough(a.Wrote, o.b.Demand, open(b))) {
			return false
		}
		if a.Fenced > b.Fenced && !o.fenceCarried(i) {
			return false
		}
	}
	return o.fallCarried()
}

// busy reports whether somebody else is at a workload of weir's.
func (o *oracle) busy(c *Cluster, by Hold) bool { return o.b.Replicas == Owned && c.Hold == by }

// rewrites reports whether there was a split before, so that weights can rise or fall.
func (o *oracle) rewrites() bool { return o.weights && o.b.Weights.Level != Unwritten }

// fallCarried reports whether the clusters that stay carry, all together, what they get
// when one that goes loses weight.
func (o *oracle) fallCarried() bool {
	var pods, share, n int64
	demand, falls := int64(o.b.Demand), false
	for i := range o.b.Clusters {
		b, a := &o.b.Clusters[i], &o.a.Clusters[i]
		switch goes := o.goes(b); {
		case goes && a.Wrote < b.Wrote:
			falls = true
		case !goes || a.Wrote > 0:
			pods += int64(open(b))
			share += int64(a.Wrote)
			n++
		}
	}
	return !falls || demand <= pods || pods > 0 && share*demand < pods*1000+n*demand
}

// fenceCarried reports whether the pods outside the fence carry what is asked of them,
// in all and, where proxies hold weights, in the fenced cluster itself.
func (o *oracle) fenceCarried(i int) bool {
	var pods int64
	for j := range o.a.Clusters {
		pods += int64(open(&o.a.Clusters[j]))
	}
	if pods < int64(o.b.Demand) {
		return false
	}
	return !o.weights || enough(o.b.Clusters[i].HeldHi, o.b.Demand, open(&o.a.Clusters[i]))
}

func (o *oracle) routed() bool {
	if o.step.Kind != Split && (o.step.Kind != Renew || o.step.Renews != WeightsSubject) {
		return true
	}
	var total Permille
	for _, w := range o.step.Split {
		if w.Share < 0 {
			return false
		}
		total += w.Share
	}
	for i := range o.b.Clusters {
		if o.b.Clusters[i].Sight != Seen && o.a.Clusters[i].Wrote > o.b.Clusters[i].Wrote {
			return false
		}
	}
	return len(o.step.Split) >= 2 && len(o.step.Split) == len(o.b.Clusters) && total == 1000
}

func (o *oracle) kept() bool {
	var serve, ready, going, outside int32
	fences := false
	for i := range o.b.Clusters {
		a := &o.a.Clusters[i]
		if !o.leavesScaler(&o.b.Clusters[i], a) {
			return false // Two that set one number take away what the other one keeps.
		}
		outside += open(a)
		shuts := a.Entry == Shut && o.b.Clusters[i].Entry == Free
		fences = fences || (shuts || a.Fenced > o.b.Clusters[i].Fenced) && max(a.Ready, a.Applied) > 0
		going += o.leavingPods(i)
		if b := &o.b.Clusters[i]; b.Sight == Seen {
			serve += min(open(b), b.Ready-o.leavingPods(i))
			ready += b.Ready - o.leavingPods(i)
		}
	}
	if fences && outside == 0 {
		return false // A copy that nobody is sent to is as good as removed.
	}
	return going == 0 || serve > 0 && ready >= o.b.MinReady
}

func (o *oracle) backwards() bool {
	for i := range o.b.Clusters {
		b, a := &o.b.Clusters[i], &o.a.Clusters[i]
		if b.Goal != Abort && b.Goal != Undrain {
			continue
		}
		if !o.givesInOrder(b, a) || !o.takesNothing(b, a) {
			return false
		}
	}
	return true
}

// givesInOrder reports whether a cluster on its way back gets its pods before the fence
// comes off, and its fence off, proven, before it gets weight.
func (o *oracle) givesInOrder(b, a *Cluster) bool {
	owned, end := o.b.Replicas == Owned, o.end(b)
	if o.keptByScaler(b) {
		end.Replicas = b.Applied
	}
	if (a.Fenced < b.Fenced || b.Entry == Shut && a.Entry == Free) && owned && b.Ready < end.Replicas {
		return false
	}
	if !o.rewrites() || a.Wrote <= b.Wrote {
		return true
	}
	return b.Entry == Free && o.b.Fence.Level != Waiting && (!owned || b.Fenced <= max(0, b.Ready-end.Replicas))
}

// takesNothing reports whether a cluster on its way back loses only pods it has too many of.
func (o *oracle) takesNothing(b, a *Cluster) bool {
	owned, end := o.b.Replicas == Owned, o.end(b)
	if a.Fenced > b.Fenced && (!owned || b.Ready-a.Fenced < end.Replicas) {
		return false
	}
	return a.Applied >= b.Applied || a.Applied >= end.Replicas
}

func (o *oracle) ends() bool {
	for i := range o.b.Clusters {
		c := &o.b.Clusters[i]
		named := o.step.Kind == Done && c.Goal != Stay
		for _, name := range o.step.Finished {
			named = named || name == c.Name
		}
		if named && !o.ended(c) {
			return false
		}
	}
	return true
}

// ended reports whether the goal of c is met and proven.
func (o *oracle) ended(c *Cluster) bool {
	if !o.stands() {
		return false
	}
	if !o.goes(c) {
		return c.Entry == Free && c.Fenced == 0 && o.back(c)
	}
	if o.weights && c.HeldHi != 0 || !o.whole(c) || c.DNS == Named || c.DNS == Cached {
		return false
	}
	if o.b.Replicas == Owned {
		return c.Applied == 0 && c.Ready == 0
	}
	return c.Ready == 0 || o.mayEnd(c, true)
}

// stands reports whether whatever was written is proven.
func (o *oracle) stands() bool {
	return (!o.weights || there(o.b.Weights)) && (o.b.Fence.Level == Unwritten || there(o.b.Fence))
}

// back reports whether a cluster that stays has the pods that it shall have.
func (o *oracle) back(c *Cluster) bool {
	return o.b.Replicas == Plain || c.Ready >= o.end(c).Replicas || o.keptByScaler(c) && c.Ready >= c.Applied
}

func (o *oracle) oneWrite() bool {
	var writes Subject
	switch o.step.Kind {
	case Rules:
		writes = RulesSubject
	case Split:
		writes = WeightsSubject
	case Fence, Unfence:
		writes = FenceSubject
	case Renew:
		writes = o.step.Renews
	default:
		return true
	}
	if o.b.Foreign != "" {
		return false
	}
	for _, q := range []struct {
		s     Subject
		proof Proof
	}{{RulesSubject, o.b.Rules}, {WeightsSubject, o.b.Weights}, {FenceSubject, o.b.Fence}} {
		if !o.weights && q.s != FenceSubject {
			continue
		}
		if q.proof.Level == Waiting && q.proof.Lease != Lapsed && (q.s != writes || o.step.Kind != Renew) {
			return false
		}
	}
	return true
}
