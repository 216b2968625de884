// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package liveness

import "time"

// State is how much contact there is.
type State string

const (
	// Healthy means that a beat was heard within the time allowed.
	Healthy State = "Healthy"
	// Suspect means that SuspectAfter beats in a row were missed.
	Suspect State = "Suspect"
	// Unknown means that nothing was ever heard, or that the last beat is so old that what it said counts for nothing.
	Unknown State = "Unknown"
)

// Thresholds are one member's. Zero values take the defaults.
type Thresholds struct {
	// BeatInterval is how often the agent beats. Default 10 s.
	BeatInterval time.Duration
	// SuspectAfter is how many beats in a row may be missed before the member is Suspect. Default 3.
	SuspectAfter int
	// UnknownAfter is how long a member stays Suspect before it is Unknown. Default 30 s.
	UnknownAfter time.Duration
}

// Defaults of Thresholds.
const (
	DefaultBeatInterval = 10 * time.Second
	DefaultSuspectAfter = 3
	DefaultUnknownAfter = 30 * time.Second
)

// Input is what there is to judge by.
type Input struct {
	Thresholds
	// LastBeat is when the newest beat was received, by the hub's clock. Zero: none was.
	LastBeat time.Time
	// Now is the hub's clock.
	Now time.Time
}

// Verdict is the state and what it rests on.
type Verdict struct {
	State State
	// Missed is how many beats in a row are overdue. Zero when nothing was ever heard.
	Missed int
	// Silence is how long nothing was heard. Zero when nothing ever was.
	Silence time.Duration
	// Changes is how long it takes until the state changes if nothing is heard. Zero: it does not change any more.
	Changes time.Duration
}

// Judge returns the verdict. A beat from the future, as after a step of the hub's clock, counts as one of this moment.
func Judge(in Input) Verdict {
	if in.LastBeat.IsZero() {
		return Verdict{State: Unknown}
	}
	t := in.withDefaults()
	silence := max(0, in.Now.Sub(in.LastBeat))
	v := Verdict{Missed: int(silence / t.BeatInterval), Silence: silence}
	suspect := saturate(t.BeatInterval, t.SuspectAfter)
	unknown := suspect + min(t.UnknownAfter, forever-suspect)
	switch {
	case silence < suspect:
		v.State, v.Changes = Healthy, suspect-silence
	case silence < unknown:
		v.State, v.Changes = Suspect, unknown-silence
	default:
		v.State = Unknown
	}
	return v
}

func (t Thresholds) withDefaults() Thresholds {
	if t.BeatInterval <= 0 {
		t.BeatInterval = DefaultBeatInterval
	}
	if t.SuspectAfter <= 0 {
		t.SuspectAfter = DefaultSuspectAfter
	}
	if t.UnknownAfter <= 0 {
		t.UnknownAfter = DefaultUnknownAfter
	}
	return t
}

// forever is longer than any silence, and short enough to be added to.
const forever = time.Duration(1<<63 - 1)

// saturate multiplies without running over.
func saturate(d time.Duration, n int) time.Duration {
	if int64(n) > int64(forever/d) {
		return forever
	}
	return d * time.Duration(n)
}
