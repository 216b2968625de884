// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package divide

// A seat is one replica that a cluster may get.
type seat struct {
	weight, odd uint64 // it is worth weight/odd
	present     bool
	tie         uint64
	index       int
}

// before reports whether a is filled before b. No two seats are equal.
func (a *seat) before(b *seat) bool {
	if x, y := a.weight*b.odd, b.weight*a.odd; x != y {
		return x > y
	}
	if a.present != b.present {
		return a.present
	}
	if a.odd != b.odd {
		return a.odd < b.odd
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return a.index < b.index
}

// best moves the n seats that are filled first to the front, in any order, and returns them. It takes time in proportion
// to the number of seats.
func best(seats []seat, n int) []seat {
	low, high := 0, len(seats)
	for low < n && n < high {
		switch middle := partition(seats[low:high]) + low; {
		case middle < n:
			low = middle + 1
		case middle > n:
			high = middle
		default:
			return seats[:n]
		}
	}
	return seats[:n]
}

// partition puts one seat at the place it returns, those filled before it to its left and all others to its right.
func partition(seats []seat) int {
	last := len(seats) - 1
	// The middle one of three, so that a sorted list is not the worst case.
	first, middle := 0, last/2
	if seats[middle].before(&seats[first]) {
		first, middle = middle, first
	}
	switch {
	case seats[last].before(&seats[first]):
		middle = first
	case seats[last].before(&seats[middle]):
		middle = last
	}
	seats[middle], seats[last] = seats[last], seats[middle]
	place := 0
	for i := range last {
		if seats[i].before(&seats[last]) {
			seats[i], seats[place] = seats[place], seats[i]
			place++
		}
	}
	seats[place], seats[last] = seats[last], seats[place]
	return place
}
