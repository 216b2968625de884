// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"slices"

	"github.com/weir-io/weir/resview/stream"
)

// maxKept is how many events are kept for a hub that does not acknowledge them. Beyond it a snapshot is cheaper anyway.
const maxKept = 20_000

// eventLog holds the events that the hub has not acknowledged, in order and without gaps.
type eventLog struct {
	events []stream.TimedEvent
	last   uint64 // number of the newest event there was, kept or not
}

// add keeps an event, which must be the next. Where there are too many, the older half goes.
func (l *eventLog) add(e stream.TimedEvent) {
	if len(l.events) >= maxKept {
		l.events = slices.Clone(l.events[maxKept/2:])
	}
	l.events, l.last = append(l.events, e), e.Sequence
}

// after returns up to limit events that follow the one with this number; false if some of them are not kept, or never
// were.
func (l *eventLog) after(version uint64, limit int) ([]stream.TimedEvent, bool) {
	oldest := l.last + 1 - uint64(len(l.events))
	if version > l.last || version+1 < oldest {
		return nil, false
	}
	from := l.events[version+1-oldest:]
	return slices.Clone(from[:min(len(from), limit)]), true
}

// cut forgets the events up to this number, and returns them.
func (l *eventLog) cut(version uint64) []stream.TimedEvent {
	oldest := l.last + 1 - uint64(len(l.events))
	if version > l.last || version < oldest {
		return nil
	}
	n := version + 1 - oldest
	gone := l.events[:n]
	l.events = l.events[n:]
	if len(l.events) == 0 {
		l.events = nil // The array behind it shall go, too.
	}
	return gone
}
