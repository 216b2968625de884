// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Record is what a client knows about one request. A client writes it twice:
// before the request is sent, with End zero, and when its fate is known. A
// client that is killed in between leaves the first line, and the account
// counts that request as lost.
type Record struct {
	// ID is unique over all clients and runs.
	ID    string `json:"id"`
	Class string `json:"class"`
	// Target is the host that was asked for.
	Target string `json:"target,omitempty"`
	// Due and Sent are when the schedule wanted the request out and when it
	// went out, before a connection was looked for.
	Due  int64 `json:"due"`
	Sent int64 `json:"sent"`
	// End is when the whole answer was read, or the request failed. Zero means
	// the fate is not known.
	End int64 `json:"end,omitempty"`
	// Status is the status code of the answer, zero when there was none.
	Status int `json:"status,omitempty"`
	// Err says why the request does not count as answered; empty is good.
	Err string `json:"err,omitempty"`
	// Pod and Cluster name the server that answered, by its own word.
	Pod     string `json:"pod,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

// OK reports whether the request was answered in full, by the right server
// program, with the right id.
func (r Record) OK() bool { return r.End != 0 && r.Err == "" }

// Line gives the record as one line of a results file, with its line feed.
func (r Record) Line() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record %q: %w", r.ID, err)
	}
	return append(b, '\n'), nil
}

// ErrTorn is returned when a file ends in the middle of a line, as a killed
// writer may leave it. What stands before the torn line is returned with it.
var ErrTorn = errors.New("the last line is not whole")

// ParseRecords reads a results file. Of two lines with one id the later one
// counts, at the place of the first, so the result is in order of sending.
func ParseRecords(file []byte) ([]Record, error) {
	var records []Record
	place := map[string]int{}
	err := eachLine(file, func(number int, line []byte) error {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("line %d: not a record: %w", number, err)
		}
		if r.ID == "" || r.Sent == 0 {
			return fmt.Errorf("line %d: a record needs an id and the time it was sent", number)
		}
		if at, ok := place[r.ID]; ok {
			records[at] = r
			return nil
		}
		place[r.ID] = len(records)
		records = append(records, r)
		return nil
	})
	return records, err
}

// eachLine calls f for every whole line of the file, without its line feed. It
// returns the first error of f, else ErrTorn when the file ends without one.
func eachLine(file []byte, f func(number int, line []byte) error) error {
	for number := 1; len(file) > 0; number++ {
		end := bytes.IndexByte(file, '\n')
		if end < 0 {
			return ErrTorn
		}
		if err := f(number, file[:end]); err != nil {
			return err
		}
		file = file[end+1:]
	}
	return nil
}
