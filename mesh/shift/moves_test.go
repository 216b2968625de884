// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// apply carries a step out, at once and whole: what spreads slowly is the proxies.
func (u *suite) apply(w world, step Step) world {
	i := -1
	for j := range u.before {
		if cellNames[j] == step.Cluster {
			i = j
		}
	}
	switch step.Kind {
	case ReplicasUp, ReplicasDown:
		c := &w.cells[i]
		c.applied = uint8(step.Replicas)
		c.scaler = limited(c.scaler, step.Kind)
	case Rules:
		w.rules = Waiting
		w.writeWeights()
	case Split:
		var v [3]Permille
		for _, x := range step.Split {
			for j := range u.before {
				if cellNames[j] == x.Cluster {
					v[j] = x.Share
				}
			}
		}
		w.wrote = u.intern(v)
		w.weights = Waiting
		w.writeWeights()
	case Fence, Unfence:
		c := &w.cells[i]
		c.fenced, c.entry = uint8(step.Fenced), step.Entry
		if step.Kind == Fence || c.fenced == 0 {
			c.quiet, c.flight = Busy, SomeWork
		}
		w.fence = Waiting
		w.writeFence()
	case DNSOut:
		w.cells[i].dns = Cached
	case DNSIn:
		w.cells[i].dns = Named
	case Renew:
		switch step.Renews {
		case FenceSubject:
			w.fence = Waiting
			w.writeFence()
		case RulesSubject:
			w.rules = Waiting
			w.writeWeights()
		default:
			w.weights = Waiting
			w.writeWeights()
		}
	case Release:
		w.record, w.fence, w.fenceOverdue, w.fenceLease, w.outdated = false, Unwritten, false, Fresh, false
		for j := range w.cells {
			w.cells[j].goal = Stay
			if w.cells[j].ready == 0 {
				w.cells[j].entry = Free
			}
		}
	case Wait, Done:
	}
	w.settle()
	return w
}

// limited is what becomes of an autoscaler when weir sets the replicas: on the way down its
// limits are lowered, on the way up they are given back.
func limited(s Scaler, kind Kind) Scaler {
	switch {
	case s == Autoscaled && kind == ReplicasDown:
		return Lowered
	case s == Lowered && kind == ReplicasUp:
		return Autoscaled
	}
	return s
}

func (w *world) writeWeights() {
	w.weightsLease, w.weightsOverdue = Fresh, false
	for i := range w.proxies {
		w.proxies[i].weights = w.proxies[i].status == away
	}
}

func (w *world) writeFence() {
	w.fenceLease, w.fenceOverdue = Fresh, false
	for i := range w.proxies {
		w.proxies[i].fence = w.proxies[i].status == away
	}
}

// settle lets the prover see what has become true.
func (w *world) settle() {
	weights, fence := true, true
	for _, x := range w.proxies {
		weights = weights && (x.status == away || x.weights)
		fence = fence && (x.status == away || x.fence)
	}
	if weights && w.weightsLease != Lapsed {
		if w.rules == Waiting {
			w.rules, w.weightsLease, w.weightsOverdue = Proven, Fresh, false
		}
		if w.weights == Waiting {
			w.weights, w.weightsLease, w.weightsOverdue = Proven, Fresh, false
		}
	}
	if fence && w.fenceLease != Lapsed && w.fence == Waiting {
		w.fence, w.fenceLease, w.fenceOverdue = Proven, Fresh, false
	}
}

// weirs marks the edge of weir's own step among the events.
const weirs = Event(255)

// fair calls emit with every world that a fair environment may bring about next. Each
// brings the world closer to rest: no sequence of them is endless.
func (u *suite) fair(w world, emit func(Event, world)) {
	u.proxiesMove(w, emit)
	for i := range u.before {
		u.cellMoves(w, i, emit)
	}
	if w.weightsLease == Stale || w.fenceLease == Stale {
		n := w
		if n.weightsLease == Stale {
			n.weightsLease = Fresh
		}
		if n.fenceLease == Stale {
			n.fenceLease = Fresh
		}
		n.settle()
		emit(LeaseRenewed, n)
	}
	if w.foreign {
		n := w
		n.foreign = false
		emit(ForeignGone, n)
	}
	if u.headroom == Require && !w.accepted {
		n := w
		n.accepted = true
		emit(ConsentGiven, n)
	}
	if w.outdated {
		n := w
		n.outdated = false
		emit(DecisionMade, n)
	}
	if len(u.goals) > 1 && u.goals[1] == Drain && w.cells[0].goal == Drain && w.cells[1].goal == Drain {
		n := w
		n.cells[0].goal = Undrain
		emit(DrainEnded, n)
	}
}

// proxiesMove: proxies take what was written, in any order; late ones come back, end,
// or are given up at the user's limit.
func (u *suite) proxiesMove(w world, emit func(Event, world)) {
	written := w.rules != Unwritten || w.weights != Unwritten
	lateWeights, lateFence := 0, 0
	allStuck := true
	for i, x := range w.proxies {
		if x.status == away {
			continue
		}
		if !x.weights && written {
			lateWeights++
			allStuck = allStuck && x.status == stuck
		}
		if !x.fence && w.fence != Unwritten {
			lateFence++
			allStuck = allStuck && x.status == stuck
		}
		if x.status == connected && !x.weights && written {
			n := w
			n.proxies[i].weights = true
			if w.weights != Unwritten {
				n.proxies[i].split = w.wrote
			}
			n.settle()
			emit(ProofArrived, n)
		}
		if x.status == connected && !x.fence && w.fence != Unwritten {
			n := w
			n.proxies[i].fence = true
			n.settle()
			emit(ProofArrived, n)
		}
		if x.status == stuck {
			n := w
			n.proxies[i].status = connected
			emit(ProofArrived, n)
			n = w
			n.proxies[i] = proxy{status: away, weights: true, fence: true}
			n.settle()
			emit(ProofArrived, n)
		}
	}
	if !allStuck {
		return
	}
	waiting := w.rules == Waiting && w.weights == Unwritten || w.weights == Waiting
	if lateWeights > 0 && waiting && !w.weightsOverdue && w.weightsLease != Lapsed {
		n := w
		n.weightsOverdue = true
		emit(ProofArrived, n)
	}
	if lateFence > 0 && w.fence == Waiting && !w.fenceOverdue && w.fenceLease != Lapsed {
		n := w
		n.fenceOverdue = true
		emit(ProofArrived, n)
	}
}

// cellMoves: pods come and go, caches run out, work ends, quiet sets in.
func (u *suite) cellMoves(w world, i int, emit func(Event, world)) {
	c := w.cells[i]
	with := func(e Event, change func(*cell)) {
		n := w
		change(&n.cells[i])
		emit(e, n)
	}
	if c.ready < c.applied {
		with(ReplicasReady, func(c *cell) {
			c.ready++
			if c.entry == Shut {
				c.fenced++
			}
		})
	}
	if c.ready > c.applied {
		with(PodsGone, func(c *cell) {
			c.ready--
			if c.fenced > 0 {
				c.fenced--
			}
		})
	}
	if c.dns == Cached {
		with(CacheExpired, func(c *cell) { c.dns = Expired })
	}
	if c.sight == Blind {
		with(SightBack, func(c *cell) { c.sight = Seen })
	}
	if c.floor {
		with(FloorLowered, func(c *cell) { c.floor = false })
	}
	if c.hold == RollingOut {
		with(RolloutDone, func(c *cell) { c.hold = Unheld })
	}
	if c.scaler == Operated {
		with(AutoscalerGone, func(c *cell) { c.scaler = Unscaled })
	}
	if c.scaled() && int32(c.applied) < u.wanted(&w, i) {
		with(AutoscalerRaised, func(c *cell) { c.applied++ })
	}
	empty := u.leaves(&w, i) && w.weights != Unwritten && u.splits[w.wrote][i] == 0
	if c.entry == Free && c.fenced == 0 && !empty {
		return // Too busy to be quiet.
	}
	sends, late := false, w.fenceOverdue
	for _, x := range w.proxies {
		sends = sends || x.status != away && !x.fence
	}
	switch {
	case c.quiet == Busy && !sends:
		with(WentQuiet, func(c *cell) { c.quiet = Once })
	case c.quiet == Once && !sends:
		with(WentQuiet, func(c *cell) { c.quiet = Twice })
	}
	if (u.limits || late) && (c.quiet == Busy || c.quiet == Once) {
		with(WentQuiet, func(c *cell) { c.quiet = Overdue })
	}
	if c.flight == SomeWork {
		with(WorkDone, func(c *cell) { c.flight = NoWork })
		if u.limits {
			with(WorkDone, func(c *cell) { c.flight = WorkOverdue })
		}
	}
}

// unfair calls emit with every world that one fault makes.
func (u *suite) unfair(w world, emit func(world)) {
	if w.faults >= u.faults {
		return
	}
	w.faults++
	u.leaseFaults(w, emit)
	for i := range w.proxies {
		if u.kinds&stick != 0 && w.proxies[i].status == connected {
			n := w
			n.proxies[i].status = stuck
			emit(n)
		}
		if u.kinds&join != 0 {
			n := w
			n.lapse()
			n.proxies[i] = proxy{split: 0, weights: n.rules == Unwritten && n.weights == Unwritten, fence: n.fence == Unwritten}
			emit(n)
		}
	}
	for i := range u.before {
		u.cellFaults(w, i, emit)
	}
}

func (w *world) lapse() {
	if w.rules != Unwritten || w.weights != Unwritten {
		w.weightsLease = Lapsed
	}
	if w.fence != Unwritten {
		w.fenceLease = Lapsed
	}
}

func (u *suite) leaseFaults(w world, emit func(world)) {
	if u.kinds&reconsult != 0 && !w.outdated {
		n := w
		n.outdated = true
		emit(n)
	}
	if u.kinds&crash != 0 {
		n := w
		if n.weightsLease == Fresh && n.weights != Unwritten {
			n.weightsLease = Stale
		}
		if n.fenceLease == Fresh && n.fence != Unwritten {
			n.fenceLease = Stale
		}
		for i := range n.cells {
			if n.cells[i].quiet == Once || n.cells[i].quiet == Twice {
				n.cells[i].quiet = Busy
			}
		}
		emit(n)
	}
	if u.kinds&lapse != 0 {
		n := w
		n.lapse()
		emit(n)
	}
	if u.kinds&foreign != 0 && !w.foreign && w.weights != Unwritten {
		n := w
		n.foreign, n.weightsLease = true, Lapsed
		n.proxies[0].split, n.proxies[0].weights = 0, n.proxies[0].status == away
		emit(n)
	}
}

func (u *suite) cellFaults(w world, i int, emit func(world)) {
	c := w.cells[i]
	with := func(which fault, can bool, change func(*cell)) {
		if u.kinds&which != 0 && can {
			n := w
			change(&n.cells[i])
			emit(n)
		}
	}
	with(empty, c.ready > 0, func(c *cell) { c.ready, c.fenced = 0, 0 })
	with(lose, c.ready > 1, func(c *cell) { c.ready--; c.fenced = min(c.fenced, c.ready) })
	with(blind, c.sight == Seen, func(c *cell) { c.sight = Blind })
	with(arrival, c.quiet == Once || c.quiet == Twice, func(c *cell) { c.quiet, c.flight = Busy, SomeWork })
	with(roll, c.hold == Unheld && u.replicas == Owned, func(c *cell) { c.hold = RollingOut })
	with(scale, c.scaler == Unscaled && u.replicas == Owned, func(c *cell) { c.scaler = Autoscaled })
	with(operate, c.scaler == Unscaled && u.replicas == Owned, func(c *cell) { c.scaler = Operated })
	with(rescale, c.scaler == Autoscaled && c.applied > 1, func(c *cell) { c.applied-- })
	with(rescale, c.scaler == Autoscaled && c.applied > 0 && c.applied < 3, func(c *cell) { c.applied++ })
	with(rescale, c.scaler != Unscaled, func(c *cell) { c.scaler = Unscaled })
	with(floor, !c.floor && c.goal == Drain && u.replicas == Owned, func(c *cell) { c.floor = true })
}

// asks calls emit with every world that the user may ask for.
func (u *suite) asks(w world, done bool, emit func(world)) {
	if u.regrown != nil && !w.redecided {
		n := w
		n.redecided = true
		emit(n)
	}
	if !u.users {
		return
	}
	for i := range u.before {
		n := w
		switch g := w.cells[i].goal; {
		case g == Drain && done:
			n.cells[i].goal = Undrain
		case g == Drain || g == Move:
			n.cells[i].goal = Abort
		case (g == Abort || g == Undrain) && u.minds && !w.old:
			n.cells[i].goal, n.old = Drain, true
		default:
			continue
		}
		emit(n)
	}
}
