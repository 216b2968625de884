// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quiet

import "time"

// State is what two scrapes tell of a pod.
type State string

const (
	// StateNotMeasured means that the pod's arrivals are not known.
	StateNotMeasured State = "NotMeasured"
	// StateBusy means that something arrived between the last two scrapes, or
	// that only one scrape is known.
	StateBusy State = "Busy"
	// StateOnce means that nothing arrived between the last two scrapes.
	StateOnce State = "Once"
	// StateTwice means that nothing arrived between the last three scrapes.
	StateTwice State = "Twice"
)

// Pod is what is known of one pod.
type Pod struct {
	Namespace string
	Name      string
	State     State
	// Arrivals counts what arrived since the pod was first scraped, over
	// restarts of its proxy.
	Arrivals uint64
	// InFlight counts the requests and connections that the application holds
	// now. It means nothing when InFlightKnown is false.
	InFlight      uint64
	InFlightKnown bool
	// LastArrival is when a scrape first showed the newest arrival; zero when
	// none was seen.
	LastArrival time.Time
	// IdleSince is the first scrape of those in a row that showed neither an arrival nor anything in flight: whatever there
	// was had ended by then. Zero while there is something, and where nothing can tell.
	IdleSince time.Time
	// At is the time of the newest scrape; zero when there was none.
	At time.Time
	// Reason says why State is StateNotMeasured; else empty.
	Reason string
}
