// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import "time"

// Limits of a run that may be judged. Past them the machine, not the product,
// decided when requests went out.
const (
	// lateAfter is what counts as a late request.
	lateAfter = 5 * time.Millisecond
	// StarvedP99 is the lateness of the 99th of 100 requests past which the
	// offered load was no longer the planned one.
	StarvedP99 = 250 * time.Millisecond
	// StarvedMax is the longest stall: a generator that stood still for
	// longer may have missed the very moment the run is about.
	StarvedMax = time.Second
)

// Lateness is how far a generator fell behind its own schedule.
type Lateness struct {
	Latency
	// Late is the share of requests that went out over five milliseconds
	// after they were due.
	Late float64 `json:"lateShare"`
}

// LatenessOf measures the lateness of the records.
func LatenessOf(records []Record) Lateness {
	values := make([]time.Duration, 0, len(records))
	late := 0
	for _, r := range records {
		by := max(time.Duration(r.Sent-r.Due), 0)
		values = append(values, by)
		if by > lateAfter {
			late++
		}
	}
	l := Lateness{Latency: Summarize(values)}
	if len(records) > 0 {
		l.Late = float64(late) / float64(len(records))
	}
	return l
}

// Starved reports whether the machine was too busy for the run to mean
// anything, good or bad.
func (l Lateness) Starved() bool { return l.P99 > StarvedP99 || l.Max > StarvedMax }
