// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

// Between gives the part of the books that is about requests sent from one time
// on and before another: what one test, of several under one load, answers for.
// Kills and spans that are set apart stay as they are.
func (b Books) Between(from, to int64) Books {
	ids := map[string]bool{}
	runs := make([]Run, len(b.Runs))
	for i, run := range b.Runs {
		runs[i] = Run{Client: run.Client, Outside: run.Outside}
		for _, r := range run.Records {
			if r.Sent >= from && r.Sent < to {
				runs[i].Records = append(runs[i].Records, r)
				ids[r.ID] = true
			}
		}
	}
	ledgers := make([]Ledger, len(b.Ledgers))
	for i, l := range b.Ledgers {
		ledgers[i] = Ledger{Pod: l.Pod, Cluster: l.Cluster}
		for _, e := range l.Entries {
			if ids[e.ID] {
				ledgers[i].Entries = append(ledgers[i].Entries, e)
			}
		}
	}
	var seen []Sight
	for _, s := range b.Seen {
		if ids[s.ID] {
			seen = append(seen, s)
		}
	}
	b.Runs, b.Ledgers, b.Seen = runs, ledgers, seen
	return b
}

// Open counts the requests whose fate is not known yet.
func (b Books) Open() int {
	n := 0
	for _, run := range b.Runs {
		for _, r := range run.Records {
			if r.End == 0 {
				n++
			}
		}
	}
	return n
}
