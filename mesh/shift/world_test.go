// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import "slices"

// The world is what the exploration walks through: the whole truth about one service,
// small enough for a key of 16 bytes. weir sees of it what believed returns; the oracle
// judges by what truth returns.
type world struct {
	cells   [3]cell
	proxies [2]proxy

	wrote                          uint8 // The split in the rules, as an index.
	rules, weights, fence          Level // As weir believes.
	weightsOverdue, fenceOverdue   bool
	weightsLease, fenceLease       Lease
	record, foreign, accepted, old bool // old: a change of mind was made.
	outdated, redecided            bool // The decision is not that of the goals; it was changed on the way.
	faults                         uint8
}

// cell is one cluster; its counters saturate at three.
type cell struct {
	applied, ready, fenced uint8
	entry                  Entry
	dns                    DNS
	quiet                  Quiet
	flight                 InFlight
	sight                  Sight
	goal                   Goal
	floor                  bool
	hold                   Hold
	scaler                 Scaler
}

// proxy stands for all proxies that behave alike.
type proxy struct {
	split          uint8 // What it uses.
	weights, fence bool  // It has taken the last write.
	status         status
}

type status uint8

const (
	connected status = iota
	stuck            // Lags, refuses, or is cut off; still sends as before.
	away             // Ended, or not born yet.
)

// suite is one bounded space: where it starts, what may go wrong, and how often.
type suite struct {
	name     string
	replicas Ownership
	steering Steering
	headroom Headroom
	dns      bool // The service has names that tell clusters apart.
	before   []int32
	grown    []int32 // The division while a cluster leaves, or is moved to.
	regrown  []int32 // What the division may be changed to on the way; nil: it stands.
	goals    []Goal
	scalers  []Scaler // Who sets the replicas besides weir; nil: nobody.
	demand   int32
	budget   int32
	maxStep  Permille
	step     int32 // FenceStep.
	client   bool  // There is a client whose routes are not ours.
	limits   bool  // Limits for quiet and work may pass.
	faults   uint8 // How many.
	kinds    fault // Which.
	users    bool  // The user may abort, and undrain after the end.
	minds    bool  // The user may change a mind once more.

	splits [][3]Permille
	index  map[[3]Permille]uint8
}

type fault uint16

const (
	crash fault = 1 << iota
	lapse
	stick
	join
	empty
	blind
	foreign
	arrival
	floor
	lose      // One pod.
	roll      // A rollout begins.
	scale     // An autoscaler appears.
	operate   // One whose limits somebody else keeps.
	rescale   // An autoscaler asks for one more or less, or is removed.
	reconsult // The goals are no longer those that were decided on.
)

const base = crash | lapse | stick | join | empty

var proxyNames = [2]string{"p0", "p1"}

var cellNames = [3]string{"c1", "c2", "c3"}

// intern numbers splits as they come up.
func (u *suite) intern(v [3]Permille) uint8 {
	if u.index == nil {
		u.index = make(map[[3]Permille]uint8)
	}
	i, ok := u.index[v]
	if !ok {
		i = uint8(len(u.splits))
		if i > 63 {
			panic("more splits than a key holds")
		}
		u.index[v] = i
		u.splits = append(u.splits, v)
	}
	return i
}

// shares divides the traffic over the clusters that stay, in the proportion of pods.
func (u *suite) shares(pods []int32, stays func(i int) bool) [3]Permille {
	raw := make([]Permille, len(u.before))
	for i, r := range pods {
		if stays(i) {
			raw[i] = Permille(r)
		}
	}
	var out [3]Permille
	if sum(raw) == 0 { // Those that stay had nothing before.
		for i := range u.before {
			if stays(i) {
				raw[i] = 1
			}
		}
	}
	copy(out[:], apportion(Whole, raw))
	return out
}

func (u *suite) start() world {
	u.splits, u.index = nil, nil
	first := u.intern(u.shares(u.before, func(int) bool { return true }))
	w := world{record: true, wrote: first, weightsLease: Fresh, fenceLease: Fresh}
	for i, r := range u.before {
		d := Unused
		if u.dns {
			d = Named
			if r == 0 {
				d = Expired
			}
		}
		w.cells[i] = cell{applied: uint8(r), ready: uint8(r), sight: Seen, dns: d, goal: u.goals[i]}
		if u.scalers != nil {
			w.cells[i].scaler = u.scalers[i]
		}
	}
	for i := range w.proxies {
		w.proxies[i] = proxy{split: first, weights: true, fence: true}
	}
	return w
}

// aim is the division that is decided on now.
func (u *suite) aim(w *world) []int32 {
	if w.redecided {
		return u.regrown
	}
	return u.grown
}

// moves reports whether a move to another division is under way, or was carried out.
func (u *suite) moves(w *world) bool {
	moved, scaled := !w.record, false
	for i := range u.before {
		if w.record && w.cells[i].goal == Move {
			return true
		}
		moved = moved && int32(w.cells[i].applied) == u.aim(w)[i]
		scaled = scaled || w.cells[i].scaled()
	}
	if scaled && !w.record { // Replicas do not tell it: an autoscaler keeps what it likes.
		aim := u.aim(w)
		moved = u.splits[w.wrote] == u.shares(aim, func(i int) bool { return aim[i] > 0 })
	}
	return moved && slices.Contains(u.goals, Move)
}

// scaled reports whether an autoscaler sets the cell's replicas.
func (c *cell) scaled() bool {
	return c.applied > 0 && c.scaler == Autoscaled || c.scaler == Operated
}

// wanted is how many pods cell i shall have in the end.
func (u *suite) wanted(w *world, i int) int32 {
	back, leaving := false, u.moves(w)
	for j := range u.before {
		leaving = leaving || u.leaves(w, j)
		back = back || w.cells[j].goal == Abort
	}
	for j := range u.before {
		back = back && (w.cells[j].goal == Stay || w.cells[j].goal == Abort)
	}
	switch {
	case u.leaves(w, i):
		return 0
	case leaving && !back:
		return u.aim(w)[i]
	}
	return u.before[i]
}

func (u *suite) leaves(w *world, i int) bool {
	if w.cells[i].goal == Drain {
		return true
	}
	return u.goals[i] == Move && u.aim(w)[i] == 0 && u.moves(w) && (!w.record || w.cells[i].goal == Move)
}

// common builds what belief and truth share.
func (u *suite) common(w *world) State {
	s := State{
		Service: "shop/cart", Replicas: u.replicas, Steering: u.steering, Headroom: u.headroom, Record: Closed,
		Demand: u.demand, MinReady: u.budget, Limits: Limits{MaxStep: u.maxStep, FenceStep: u.step},
		Clusters: make([]Cluster, len(u.before)),
	}
	if w.record {
		s.Record = Open
	}
	if w.foreign {
		s.Foreign = "alice"
	}
	if u.client {
		s.Unweighted = []string{"gateway"}
	}
	leaving := u.moves(w)
	for i := range u.before {
		leaving = leaving || u.leaves(w, i)
	}
	pods := u.before
	if leaving && u.replicas == Owned {
		pods = u.aim(w)
	}
	target := u.shares(pods, func(i int) bool { return !u.leaves(w, i) })
	if u.replicas == Plain {
		s.Demand = 0
		for i := range u.before {
			if !u.leaves(w, i) {
				s.Demand += int32(w.cells[i].ready)
			}
		}
	}
	for i := range s.Clusters {
		c, k := &s.Clusters[i], &w.cells[i]
		*c = Cluster{
			Name: cellNames[i], Goal: k.goal, Turn: int32(i), Accepted: w.accepted,
			Before:  Place{Replicas: u.before[i], Share: u.splits[0][i]},
			Target:  Place{Replicas: u.before[i], Share: target[i]},
			Applied: int32(k.applied), Ready: int32(k.ready), Fenced: int32(k.fenced), Entry: k.entry,
			DNS: k.dns, Quiet: k.quiet, InFlight: k.flight, Sight: k.sight, Hold: k.hold, Scaler: k.scaler,
		}
		if leaving {
			c.Target.Replicas = u.aim(w)[i]
			if u.leaves(w, i) || u.replicas == Plain {
				c.Target.Replicas = 0
			}
		}
		if k.floor {
			c.Floor = 1
		}
		if w.weights != Unwritten {
			c.Wrote = u.splits[w.wrote][i]
		}
	}
	return s
}

// believed is the State that weir's gatherer would give.
func (u *suite) believed(w *world) State {
	s := u.common(w)
	s.Rules = Proof{Level: w.rules, Lease: w.weightsLease, Overdue: w.weightsOverdue}
	s.Weights = Proof{Level: w.weights, Lease: w.weightsLease, Overdue: w.weightsOverdue}
	s.Fence = Proof{Level: w.fence, Lease: w.fenceLease, Overdue: w.fenceOverdue}
	for i, x := range w.proxies {
		late := Laggard{Cluster: "c1", Name: proxyNames[i]}
		if x.status != away && !x.weights {
			s.Weights.Missing = append(s.Weights.Missing, late)
			s.Rules.Missing = s.Weights.Missing
		}
		if x.status != away && !x.fence {
			s.Fence.Missing = append(s.Fence.Missing, late)
		}
	}
	if w.outdated {
		u.forget(w, &s)
	}
	sure := w.weights == Proven
	for i := range s.Clusters {
		c := &s.Clusters[i]
		c.HeldLo, c.HeldHi = c.Wrote, c.Wrote
		if w.weights == Unwritten {
			c.HeldLo, c.HeldHi = c.Before.Share, c.Before.Share
		}
		if sure {
			continue
		}
		if w.weightsLease == Lapsed {
			c.HeldLo, c.HeldHi = min(c.HeldLo, c.Before.Share), max(c.HeldHi, c.Before.Share)
		}
		for _, x := range w.proxies {
			if x.status != away {
				c.HeldLo, c.HeldHi = min(c.HeldLo, u.splits[x.split][i]), max(c.HeldHi, u.splits[x.split][i])
			}
		}
	}
	return s
}

// forget makes of the targets those of a decision that does not know the goals: clusters
// that stay have what they had, and one that comes back has nothing yet.
func (u *suite) forget(w *world, s *State) {
	s.Decision = Outdated
	old := slices.Clone(u.before)
	for i := range old {
		if g := w.cells[i].goal; g == Undrain || g == Drain {
			old[i] = 0
		}
	}
	share := u.shares(old, func(i int) bool { return w.cells[i].goal != Drain && w.cells[i].goal != Undrain })
	for i := range s.Clusters {
		s.Clusters[i].Target = Place{Replicas: old[i], Share: share[i]}
	}
}

// truth is the State that the oracle judges by: what proxies really use. A limit that
// the user set forgives proxies that are still late, and nothing else.
func (u *suite) truth(w *world) State {
	s := u.common(w)
	level := func(believed Level, overdue bool, has func(x proxy) bool) Level {
		if believed == Unwritten {
			return Unwritten
		}
		for _, x := range w.proxies {
			if x.status != away && !has(x) && !overdue {
				return Waiting
			}
		}
		if overdue {
			return Timed
		}
		return Proven
	}
	has := func(x proxy) bool { return x.weights }
	s.Weights = Proof{Level: level(w.weights, w.weightsOverdue, has), Lease: w.weightsLease}
	s.Rules = Proof{Level: w.rules, Lease: w.weightsLease}
	if w.weights == Unwritten {
		s.Rules.Level = level(w.rules, w.weightsOverdue, has)
	} else if w.rules == Waiting {
		s.Rules.Level = Timed
	}
	s.Fence = Proof{Level: level(w.fence, w.fenceOverdue, func(x proxy) bool { return x.fence }), Lease: w.fenceLease}
	for i := range s.Clusters {
		c := &s.Clusters[i]
		c.HeldLo, c.HeldHi = c.Wrote, c.Wrote
		for _, x := range w.proxies {
			if x.status != away && (x.weights || !w.weightsOverdue) {
				c.HeldLo, c.HeldHi = min(c.HeldLo, u.splits[x.split][i]), max(c.HeldHi, u.splits[x.split][i])
			}
		}
	}
	return s
}

func sum(shares []Permille) Permille {
	var total Permille
	for _, x := range shares {
		total += x
	}
	return total
}
