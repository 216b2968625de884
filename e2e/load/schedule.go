// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"math"
	"time"
)

// Schedule is the open-loop plan of a run: when each request is due, whatever
// happens to the ones before it. The time axis of each class is cut into slots
// of one over its rate, and each slot holds exactly one request at a seeded
// place. So the rate holds over every span of time, requests of several classes
// do not march in step, and the same seed gives the same plan.
//
// A Schedule is a cursor and not safe for concurrent use.
type Schedule struct {
	seed    uint64
	streams []stream
}

// stream is the cursor of one class.
type stream struct {
	class Class
	slot  float64 // length of a slot in nanoseconds
	next  uint64  // index of the next slot
	due   time.Duration
}

// Arrival is one request of the plan.
type Arrival struct {
	Class Class
	// Due is the time since the start of the run.
	Due time.Duration
}

// NewSchedule plans rate requests a second over all classes of the mix, each
// with its part. It fails on a rate that is not positive and finite, and on a
// mix with no class, a class twice, or a part that is not positive.
func NewSchedule(seed uint64, rate float64, mix []Share) (*Schedule, error) {
	if !(rate > 0) || math.IsInf(rate, 0) {
		return nil, fmt.Errorf("rate is %v requests a second: it must be positive", rate)
	}
	if err := checkMix(mix); err != nil {
		return nil, err
	}
	sum := 0
	for _, s := range mix {
		sum += s.Part
	}
	s := &Schedule{seed: seed}
	for i, share := range mix {
		perSecond := rate * float64(share.Part) / float64(sum)
		st := stream{class: share.Class, slot: float64(time.Second) / perSecond}
		st.due = st.at(s.seed, i)
		s.streams = append(s.streams, st)
	}
	return s, nil
}

// Next returns the request that is due next and moves on. Requests come in
// order of time; those due at the same instant come in the order of the mix.
func (s *Schedule) Next() Arrival {
	first := 0
	for i := range s.streams {
		if s.streams[i].due < s.streams[first].due {
			first = i
		}
	}
	st := &s.streams[first]
	a := Arrival{Class: st.class, Due: st.due}
	st.next++
	st.due = st.at(s.seed, first)
	return a
}

// at gives the time of the stream's next request: a seeded place in its slot.
func (st *stream) at(seed uint64, index int) time.Duration {
	place := unit(seed, uint64(index), st.next)
	return time.Duration((float64(st.next) + place) * st.slot)
}

// unit mixes its arguments to a number in [0, 1). It is the finalizer of
// splitmix64, which spreads neighbouring inputs well and needs no state.
func unit(seed, stream, slot uint64) float64 {
	x := seed ^ (stream+1)*0x9e3779b97f4a7c15 ^ (slot+1)*0xd1b54a32d192ed03
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
