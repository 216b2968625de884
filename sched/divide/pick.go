// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package divide

import "math/bits"

// A span is the seats [from, to) of one cluster, ranked by weight below present and by newWeight from there on.
type span struct {
	weight, newWeight uint64
	from, present, to int64
	low, high, probed int64 // where the low, the high and the last tried divisor fill it to
	index             int
}

// Divisors are fixed-point numbers: divisor d stands for d/2^scale. At the greatest of them every seat is filled, and
// one step changes no cluster by more than one seat, for no weight is over 2^scale.
const (
	scale      = 30
	maxDivisor = 1 << 62
)

// reach is where the span is filled to at a divisor: it takes every seat k that is worth weight/(2k+1) ≥ 1/divisor.
func (s *span) reach(divisor uint64) int64 {
	filled := seatsWithin(s.weight, divisor)
	if filled > s.present {
		filled = s.present
		if s.to > s.present {
			filled = max(filled, seatsWithin(s.newWeight, divisor))
		}
	}
	return min(max(filled, s.from), s.to)
}

// seatsWithin counts the k ≥ 0 for which 2k+1 ≤ weight × divisor.
func seatsWithin(weight, divisor uint64) int64 {
	hi, lo := bits.Mul64(weight, divisor)
	return int64((hi<<(64-scale) | lo>>scale + 1) >> 1)
}

// pick gives left replicas to the worthiest seats between given and next, which are more than left. Seats that are worth
// nothing come last, one by one.
func (d *Divider) pick(clusters []Cluster, evenly bool, left int64) {
	d.spans = d.spans[:0]
	worth := int64(0)
	for i := range clusters {
		if d.next[i] == d.given[i] {
			continue
		}
		s := span{weight: 1, newWeight: 1, from: d.given[i], present: max(0, clusters[i].Present), to: d.next[i], index: i}
		if !evenly {
			s.weight, s.newWeight = weights(&clusters[i])
			if s.weight == 0 {
				continue
			}
		}
		worth += s.to - s.from
		d.spans = append(d.spans, s)
	}
	if worth <= left {
		for _, s := range d.spans {
			d.given[s.index] = s.to
		}
		if left > worth {
			d.pick(clusters, true, left-worth)
		}
		return
	}
	d.search(left)
	d.settle(clusters, left)
}

// weights are those of a cluster, within bounds.
func weights(c *Cluster) (weight, newWeight uint64) {
	w := min(c.Weight, MaxWeight)
	return natural(w), natural(min(c.NewWeight, w))
}

// natural is n, or 0 where it is less.
func natural(n int64) uint64 { return uint64(max(n, 0)) }

// search finds two divisors between which few seats lie: the low one fills at most left seats, the high one more. It
// guesses, then interpolates, and halves every third time, so that it always ends.
func (d *Divider) search(left int64) {
	var sum, seats uint64
	for i := range d.spans {
		s := &d.spans[i]
		s.low, s.high = s.from, s.to
		sum += s.weight
		seats += natural(s.from)
	}
	low, high := uint64(0), uint64(maxDivisor)
	filledLow, filledHigh := int64(0), d.count(high)
	probe := min((seats+natural(left))<<(scale+1)/sum, maxDivisor)
	for round := 1; high-low > 1 && filledHigh-filledLow > int64(len(d.spans)); round++ {
		probe = min(max(probe, low+1), high-1)
		if filled := d.count(probe); filled <= left {
			low, filledLow = probe, filled
			for i := range d.spans {
				d.spans[i].low = d.spans[i].probed
			}
		} else {
			high, filledHigh = probe, filled
			for i := range d.spans {
				d.spans[i].high = d.spans[i].probed
			}
		}
		switch {
		case high == maxDivisor:
			probe = 2 * low
		case round%3 == 0:
			probe = low + (high-low)/2
		default:
			hi, lo := bits.Mul64(high-low, natural(left-filledLow))
			step, _ := bits.Div64(hi, lo, natural(filledHigh-filledLow))
			probe = low + step
		}
	}
}

// count is how many seats are filled at a divisor.
func (d *Divider) count(divisor uint64) int64 {
	filled := int64(0)
	for i := range d.spans {
		s := &d.spans[i]
		s.probed = s.reach(divisor)
		filled += s.probed - s.from
	}
	return filled
}

// settle fills what the low divisor fills and chooses the rest, the worthiest first, among the seats between the two.
func (d *Divider) settle(clusters []Cluster, left int64) {
	d.seats = d.seats[:0]
	for i := range d.spans {
		s := &d.spans[i]
		d.given[s.index] = s.low
		left -= s.low - s.from
		for k := s.low; k < s.high; k++ {
			weight := s.weight
			if k >= s.present {
				weight = s.newWeight
			}
			d.seats = append(d.seats, seat{weight, natural(2*k + 1), k < s.present, clusters[s.index].Tie, s.index})
		}
	}
	for _, chosen := range best(d.seats, int(left)) {
		d.given[chosen.index]++
	}
}
