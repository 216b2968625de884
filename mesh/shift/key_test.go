// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// key packs a world. Proxies are a multiset.
type key [2]uint64

type packer struct {
	bits uint64
	at   uint
}

func (p *packer) put(v uint8, width uint) {
	p.bits |= uint64(v) << p.at
	p.at += width
}

func (p *packer) flag(b bool) {
	if b {
		p.put(1, 1)
		return
	}
	p.put(0, 1)
}

func (w *world) pack() key {
	if less(w.proxies[1], w.proxies[0]) {
		w.proxies[0], w.proxies[1] = w.proxies[1], w.proxies[0]
	}
	var a, b packer
	for _, c := range w.cells {
		a.put(c.applied, 2)
		a.put(c.ready, 2)
		a.put(c.fenced, 2)
		a.put(uint8(c.entry), 1)
		a.put(uint8(c.dns), 2)
		a.put(uint8(c.quiet), 3)
		a.put(uint8(c.flight), 2)
		a.put(uint8(c.sight), 1)
		a.put(uint8(c.goal), 3)
		a.put(uint8(c.scaler), 2)
		b.flag(c.floor)
		b.put(uint8(c.hold), 1)
	}
	for _, x := range w.proxies {
		b.put(x.split, 6)
		b.flag(x.weights)
		b.flag(x.fence)
		b.put(uint8(x.status), 2)
	}
	b.put(w.wrote, 6)
	b.put(uint8(w.rules), 2)
	b.put(uint8(w.weights), 2)
	b.put(uint8(w.fence), 2)
	b.flag(w.weightsOverdue)
	b.flag(w.fenceOverdue)
	b.put(uint8(w.weightsLease), 2)
	b.put(uint8(w.fenceLease), 2)
	b.flag(w.record)
	b.flag(w.foreign)
	b.flag(w.accepted)
	b.flag(w.old)
	b.flag(w.outdated)
	b.flag(w.redecided)
	b.put(w.faults, 3)
	return key{a.bits, b.bits}
}

func less(a, b proxy) bool {
	rank := func(x proxy) int {
		r := int(x.split)<<4 | int(x.status)<<2
		if x.weights {
			r |= 2
		}
		if x.fence {
			r |= 1
		}
		return r
	}
	return rank(a) < rank(b)
}

type unpacker uint64

func (u *unpacker) get(width uint) uint8 {
	v := uint8(uint64(*u) & (1<<width - 1))
	*u >>= width
	return v
}

func (u *unpacker) flag() bool { return u.get(1) == 1 }

func (k key) unpack() world {
	var w world
	a, b := unpacker(k[0]), unpacker(k[1])
	for i := range w.cells {
		w.cells[i] = cell{
			applied: a.get(2), ready: a.get(2), fenced: a.get(2), entry: Entry(a.get(1)), dns: DNS(a.get(2)),
			quiet: Quiet(a.get(3)), flight: InFlight(a.get(2)), sight: Sight(a.get(1)), goal: Goal(a.get(3)), scaler: Scaler(a.get(2)), floor: b.flag(), hold: Hold(b.get(1)),
		}
	}
	for i := range w.proxies {
		w.proxies[i] = proxy{split: b.get(6), weights: b.flag(), fence: b.flag(), status: status(b.get(2))}
	}
	w.wrote = b.get(6)
	w.rules, w.weights, w.fence = Level(b.get(2)), Level(b.get(2)), Level(b.get(2))
	w.weightsOverdue, w.fenceOverdue = b.flag(), b.flag()
	w.weightsLease, w.fenceLease = Lease(b.get(2)), Lease(b.get(2))
	w.record, w.foreign, w.accepted, w.old = b.flag(), b.flag(), b.flag(), b.flag()
	w.outdated, w.redecided = b.flag(), b.flag()
	w.faults = b.get(3)
	return w
}
