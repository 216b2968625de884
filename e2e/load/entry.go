// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"strconv"
	"strings"
)

// Event is what a server notes about a request.
type Event string

// The events of a ledger.
const (
	// Started is the first line of a ledger: its process began to serve.
	Started Event = "started"
	// Arrived means a GET reached the application.
	Arrived Event = "arrived"
	// Executed means a POST reached the application and took effect. The same
	// id twice, here or in another ledger, is a request executed twice.
	Executed Event = "executed"
	// Answered means the answer is about to be handed to the network.
	Answered Event = "answered"
	// Abandoned means the caller went away before there was an answer.
	Abandoned Event = "abandoned"
)

// Entry is one line of a server's ledger.
type Entry struct {
	Time   int64
	Event  Event
	Method string
	// Path is the class of the path: fast, slow or once. The raw path is never
	// noted, so that no caller decides how large a ledger grows.
	Path string
	// ID is the request's id. It may hold any bytes.
	ID string
}

// Ledger is all that one server process noted.
type Ledger struct {
	Pod, Cluster string
	Entries      []Entry
}

// entryFields is the number of tab-separated fields of a line.
const entryFields = 5

// Line gives the entry as one line of a ledger, with its line feed: time,
// event, method, path class, quoted id. Quoting keeps tabs, line feeds and
// bytes that are no text out of the line.
func (e Entry) Line() []byte {
	b := strconv.AppendInt(nil, e.Time, 10)
	for _, s := range []string{string(e.Event), e.Method, e.Path} {
		b = append(b, '\t')
		b = append(b, s...)
	}
	b = append(b, '\t')
	b = strconv.AppendQuoteToASCII(b, e.ID)
	return append(b, '\n')
}

// Header gives the first line of a ledger: who writes it, and from when.
func Header(started int64, pod, cluster string) []byte {
	return Entry{Time: started, Event: Started, Method: pod, Path: cluster}.Line()
}

// ParseLedger reads a ledger. On ErrTorn all whole lines are in the result.
func ParseLedger(file []byte) (Ledger, error) {
	var l Ledger
	err := eachLine(file, func(number int, line []byte) error {
		e, err := parseEntry(string(line))
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		switch {
		case number == 1 && e.Event != Started:
			return fmt.Errorf("line 1: event %q: a ledger begins with %q", e.Event, Started)
		case e.Event == Started:
			l.Pod, l.Cluster = e.Method, e.Path
		default:
			l.Entries = append(l.Entries, e)
		}
		return nil
	})
	return l, err
}

func parseEntry(line string) (Entry, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != entryFields {
		return Entry{}, fmt.Errorf("%d fields, want %d", len(fields), entryFields)
	}
	at, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return Entry{}, fmt.Errorf("time: %w", err)
	}
	id, err := strconv.Unquote(fields[4])
	if err != nil {
		return Entry{}, fmt.Errorf("id %s: %w", fields[4], err)
	}
	e := Entry{Time: at, Event: Event(fields[1]), Method: fields[2], Path: fields[3], ID: id}
	switch e.Event {
	case Started, Arrived, Executed, Answered, Abandoned:
		return e, nil
	default:
		return Entry{}, fmt.Errorf("event %q is not known", e.Event)
	}
}

// IsArrival reports whether a line of a ledger, with or without its line feed,
// tells of a request that reached the application.
func IsArrival(line []byte) bool {
	e, err := parseEntry(strings.TrimSuffix(string(line), "\n"))
	return err == nil && e.begins()
}

// begins reports whether the entry is the arrival of a request.
func (e Entry) begins() bool { return e.Event == Arrived || e.Event == Executed }
