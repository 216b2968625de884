// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package liveness

import (
	"slices"
	"time"
)

// States of a member besides those of its contact.
const (
	// Dead means that neither agent nor API server was heard for long enough. Nothing new is placed there.
	Dead State = "Dead"
	// Partitioned means the same, but traffic to the member succeeds: its pods run, and the hub is cut off from it.
	Partitioned State = "Partitioned"
)

// Reason says why a member is in its state.
type Reason string

// The reasons.
const (
	// Beating: the agent is heard in time.
	Beating Reason = "Beating"
	// NeverHeard: nothing was ever heard of it.
	NeverHeard Reason = "NeverHeard"
	// BeatsMissed: beats are overdue, and of the API server nothing is known.
	BeatsMissed Reason = "BeatsMissed"
	// AgentSilent: beats are overdue, and the API server answers.
	AgentSilent Reason = "AgentSilent"
	// BothSilent: neither is heard.
	BothSilent Reason = "BothSilent"
	// TrafficFlows: neither is heard, and traffic to the member succeeds.
	TrafficFlows Reason = "TrafficFlows"
	// FleetSilent: neither is heard, nor is much of the fleet.
	FleetSilent Reason = "FleetSilent"
	// Returning: contact is there again, and has not lasted yet.
	Returning Reason = "Returning"
)

// Defaults of Facts.
const (
	DefaultDeadAfter = 30 * time.Second
	DefaultHold      = time.Minute
)

// Probe is what asking the member's API server has given.
type Probe struct {
	// Answered says that the newest probe succeeded.
	Answered bool
	// FailingSince is since when every probe has failed. Zero: the newest succeeded, or none was made.
	FailingSince time.Time
}

// Evidence is what others than the hub know of the member, as fresh as the caller asks for.
type Evidence struct {
	// TrafficFlows says that requests of other members to this one succeed.
	TrafficFlows bool
	// Unreachable are the other members that cannot reach it, or whose traffic to it fails. A name counts once.
	Unreachable []string
	// Witness says that a configured witness holds it for dead.
	Witness bool
	// Declared says that a person holds it for dead.
	Declared bool
}

// Facts is all that one look rests on.
type Facts struct {
	Input
	// DeadAfter is how long probes of a silent member must fail. Default 30 s.
	DeadAfter time.Duration
	// Hold is how long contact must last before a Dead or Partitioned member is Healthy. Default 1 min.
	Hold time.Duration
	// Probe of the member's API server.
	Probe Probe
	// Evidence of others.
	Evidence Evidence
	// FleetSilent says that too many members are silent at once (see MassLoss).
	FleetSilent bool
}

// Memory is what is to be kept of a member between two looks. The zero value knows nothing.
type Memory struct {
	// State the member was in.
	State State
	// Since is when it came to be in it.
	Since time.Time
	// ContactSince is since when there has been contact with a member that is Dead or Partitioned. Zero: there is none.
	ContactSince time.Time
}

// Judgement is what a look gives.
type Judgement struct {
	// Reason of Memory.State.
	Reason Reason
	// Weight is how much new work the member should get, in percent of what it would get: 100 while Healthy, 50 while
	// Suspect, else 0. It never takes anything away.
	Weight int
	// Probe says that the member's API server should be asked.
	Probe bool
	// Move says that there is evidence enough to move work and traffic away.
	Move bool
}

// Next takes one look at a member: it returns what to keep, and the judgement.
func Next(before Memory, f Facts) (Memory, Judgement) {
	beats := Judge(f.Input)
	var state State
	var reason Reason
	contact := before.ContactSince
	if before.State == Dead || before.State == Partitioned {
		state, reason, contact = f.leave(before, beats)
	} else {
		state, reason = f.enter(beats)
	}
	after := Memory{State: state, Since: before.Since, ContactSince: contact}
	if state != before.State {
		after.Since = f.Now
	}
	return after, Judgement{
		Reason: reason, Weight: weights[state], Probe: beats.State != Healthy,
		Move: state == Dead && reason == BothSilent && f.enough(),
	}
}

var weights = map[State]int{Healthy: 100, Suspect: 50}

// enter judges a member that is neither Dead nor Partitioned.
func (f *Facts) enter(beats Verdict) (State, Reason) {
	switch {
	case beats.State == Healthy:
		return Healthy, Beating
	case f.LastBeat.IsZero():
		return Unknown, NeverHeard
	case f.Probe.Answered:
		return Suspect, AgentSilent
	case f.Probe.FailingSince.IsZero():
		return Suspect, BeatsMissed
	case f.bothSilentFor(beats) < f.deadAfter():
		return Suspect, BothSilent
	case f.FleetSilent:
		return Suspect, FleetSilent
	}
	return f.gone()
}

// leave judges a member that is Dead or Partitioned, and says since when there has been contact.
func (f *Facts) leave(before Memory, beats Verdict) (State, Reason, time.Time) {
	if beats.State != Healthy && !f.Probe.Answered {
		if f.FleetSilent {
			return before.State, FleetSilent, time.Time{}
		}
		state, reason := f.gone()
		return state, reason, time.Time{}
	}
	since := before.ContactSince
	if since.IsZero() || since.After(f.Now) {
		since = f.Now
	}
	if f.Now.Sub(since) < f.hold() {
		return before.State, Returning, since
	}
	state, reason := f.enter(beats)
	return state, reason, time.Time{}
}

// gone tells a member that is cut off from one that is dead.
func (f *Facts) gone() (State, Reason) {
	if f.Evidence.TrafficFlows {
		return Partitioned, TrafficFlows
	}
	return Dead, BothSilent
}

// bothSilentFor is how long neither agent nor API server has been heard: from when the agent was missed, or from the
// first probe that failed if that was later.
func (f *Facts) bothSilentFor(beats Verdict) time.Duration {
	t := f.withDefaults()
	missed := beats.Silence - saturate(t.BeatInterval, t.SuspectAfter)
	return max(0, min(missed, f.Now.Sub(f.Probe.FailingSince)))
}

// enough says whether the evidence is of two independent sources, or a person's.
func (f *Facts) enough() bool {
	names := slices.Clone(f.Evidence.Unreachable)
	slices.Sort(names)
	sources := len(slices.Compact(names))
	return f.Evidence.Declared || sources >= 2 || sources == 1 && f.Evidence.Witness
}

func (f *Facts) deadAfter() time.Duration { return orDefault(f.DeadAfter, DefaultDeadAfter) }

func (f *Facts) hold() time.Duration { return orDefault(f.Hold, DefaultHold) }

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// MassLoss says whether so many members fell silent that the hub should suspect itself: more than share percent of
// those that were ever heard, and two at least. One member of two may be dead; both at once rather tell of the hub.
func MassLoss(silent, heard, share int) bool {
	return silent >= 2 && silent*100 > heard*share
}
