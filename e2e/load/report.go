// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

// Counts is how requests ended, as their client saw it.
type Counts struct {
	Sent int `json:"sent"`
	OK   int `json:"ok"`
	Lost int `json:"lost"`
}

// add counts one request. A request whose fate is not known is lost.
func (c *Counts) add(r Record) {
	c.Sent++
	if r.OK() {
		c.OK++
		return
	}
	c.Lost++
}

// Report is what one client says at the end of its run.
type Report struct {
	Client string  `json:"client"`
	Seed   uint64  `json:"seed"`
	Rate   float64 `json:"ratePerSecond"`
	Start  int64   `json:"start"`
	End    int64   `json:"end"`
	Counts
	Classes map[string]Counts `json:"classes"`
	Windows []Window          `json:"windows"`
	// Errors counts lost requests by what went wrong.
	Errors   map[string]int `json:"errors,omitempty"`
	Lateness Lateness       `json:"lateness"`
	// Starved says that the run means nothing: the machine was too busy.
	Starved bool `json:"starved"`
}

// NewReport sums up the records of one client. Identity, seed and rate are the
// caller's to fill in.
func NewReport(records []Record, marks []Mark, start, end int64) Report {
	r := Report{
		Start: start, End: end,
		Classes:  map[string]Counts{},
		Errors:   map[string]int{},
		Windows:  Windows(records, marks, start, end),
		Lateness: LatenessOf(records),
	}
	for _, rec := range records {
		r.add(rec)
		c := r.Classes[rec.Class]
		c.add(rec)
		r.Classes[rec.Class] = c
		if !rec.OK() {
			r.Errors[rec.failure()]++
		}
	}
	r.Starved = r.Lateness.Starved()
	return r
}

// unresolved stands for the reason of a request that has no end.
const unresolved = "the client ended before the request did"

// failure says why a request was lost.
func (r Record) failure() string {
	if r.End == 0 {
		return unresolved
	}
	return r.Err
}
