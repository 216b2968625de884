// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"sync"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/journal"
)

// tally keeps the records of a run, in the file and in memory, and the counts
// of the running second. It is safe for concurrent use.
type tally struct {
	file *journal.File

	mu      sync.Mutex
	place   map[string]int // open requests by id
	records []load.Record
	second  Second
	total   load.Counts
	failed  error
}

// Second is what happened in one second, as the client saw it.
type Second struct {
	Sent int `json:"sent"`
	OK   int `json:"ok"`
	Lost int `json:"lost"`
	// Answered counts answers by the cluster that gave them.
	Answered map[string]int `json:"answered"`
}

func newTally(file *journal.File) *tally {
	return &tally{file: file, place: map[string]int{}, second: Second{Answered: map[string]int{}}}
}

// sent notes a request that is about to be sent.
func (t *tally) sent(r load.Record) {
	t.write(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.place[r.ID] = len(t.records)
	t.records = append(t.records, r)
	t.second.Sent++
	t.total.Sent++
}

// ended notes the fate of a request that was sent.
func (t *tally) ended(r load.Record) {
	t.write(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records[t.place[r.ID]] = r
	delete(t.place, r.ID)
	if r.OK() {
		t.second.OK++
		t.total.OK++
		t.second.Answered[r.Cluster]++
		return
	}
	t.second.Lost++
	t.total.Lost++
}

// write puts the record into the file. The first failure is kept: a run that
// was not recorded must not pass for one that was.
func (t *tally) write(r load.Record) {
	line, err := r.Line()
	if err == nil {
		err = t.file.Append(line)
	}
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
}

// turn gives the running second and the counts so far, and begins a new second.
func (t *tally) turn() (Second, load.Counts, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.second
	t.second = Second{Answered: map[string]int{}}
	return s, t.total, len(t.place)
}

// all gives the records, in order of sending.
func (t *tally) all() []load.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.records
}

// err gives the first failure to write.
func (t *tally) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}
