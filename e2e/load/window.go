// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"slices"
	"time"
)

// Mark is a moment that whoever runs the load wants to tell apart.
type Mark struct {
	Name string `json:"name"`
	Time int64  `json:"time"`
}

// Window is the time from one mark to the next, with the requests that were
// sent in it.
type Window struct {
	// Name is that of the mark it begins with; "start" before the first.
	Name string `json:"name"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Counts
	// Latency is that of answered requests which the server does not hold on
	// purpose: all kinds but Slow.
	Latency Latency `json:"latency"`
}

// Windows cuts a run from its start to its end at the marks. A mark before the
// start, or after the end, gives a window without requests.
func Windows(records []Record, marks []Mark, start, end int64) []Window {
	marks = slices.SortedStableFunc(slices.Values(marks), func(a, b Mark) int {
		return cmp.Compare(a.Time, b.Time)
	})
	windows := []Window{{Name: "start", From: start}}
	for _, m := range marks {
		windows[len(windows)-1].To = m.Time
		windows = append(windows, Window{Name: m.Name, From: m.Time})
	}
	windows[len(windows)-1].To = end

	took := make([][]time.Duration, len(windows))
	for _, r := range records {
		i := windowOf(marks, r.Sent)
		windows[i].add(r)
		if r.OK() && !isSlow(r.Class) {
			took[i] = append(took[i], time.Duration(r.End-r.Sent))
		}
	}
	for i := range windows {
		windows[i].Latency = Summarize(took[i])
	}
	return windows
}

// windowOf gives the index of the window that a time falls in: the number of
// sorted marks at or before it.
func windowOf(marks []Mark, at int64) int {
	i, _ := slices.BinarySearchFunc(marks, at, func(m Mark, at int64) int {
		if m.Time <= at {
			return -1
		}
		return 1
	})
	return i
}

func isSlow(class string) bool {
	return class == Class{HTTP1, Slow}.String() || class == Class{HTTP2, Slow}.String()
}
