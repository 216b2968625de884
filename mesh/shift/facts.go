// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// Goal is what the user wants of one cluster.
type Goal uint8

// The closed list of Goal values.
const (
	// Stay keeps the cluster at its Target, or at Before while another one aborts.
	Stay Goal = iota
	// Drain takes the cluster out of service.
	Drain
	// Undrain gives the cluster back, up to its Target.
	Undrain
	// Abort stops a move half way and goes back to Before.
	Abort
	// Move goes to any Target; one with no replicas leaves as in a drain.
	Move
)

var goalNames = []string{"Stay", "Drain", "Undrain", "Abort", "Move"}

// String returns the name that files and sentences use.
func (g Goal) String() string { return nameOf(goalNames, uint8(g)) }

// MarshalText writes the name; an unknown value is an error.
func (g Goal) MarshalText() ([]byte, error) { return textOf(goalNames, uint8(g)) }

// UnmarshalText reads a name that MarshalText wrote.
func (g *Goal) UnmarshalText(text []byte) error { return parse(goalNames, "Goal", text, (*uint8)(g)) }

// Ownership says who owns the number of replicas.
type Ownership uint8

// The closed list of Ownership values.
const (
	// Plain means that they are the user's: a drain ends fenced and quiet, and the pods stay.
	Plain Ownership = iota
	// Owned means that they are weir's to change.
	Owned
)

var ownershipNames = []string{"Plain", "Owned"}

// String returns the name that files and sentences use.
func (o Ownership) String() string { return nameOf(ownershipNames, uint8(o)) }

// MarshalText writes the name; an unknown value is an error.
func (o Ownership) MarshalText() ([]byte, error) { return textOf(ownershipNames, uint8(o)) }

// UnmarshalText reads a name that MarshalText wrote.
func (o *Ownership) UnmarshalText(text []byte) error {
	return parse(ownershipNames, "Ownership", text, (*uint8)(o))
}

// Steering says by what means traffic is moved.
type Steering uint8

// The closed list of Steering values.
const (
	// Always moves traffic by weights, then by the fence.
	Always Steering = iota
	// OnDemand has no weights: the fence alone moves traffic.
	OnDemand
)

var steeringNames = []string{"Always", "OnDemand"}

// String returns the name that files and sentences use.
func (s Steering) String() string { return nameOf(steeringNames, uint8(s)) }

// MarshalText writes the name; an unknown value is an error.
func (s Steering) MarshalText() ([]byte, error) { return textOf(steeringNames, uint8(s)) }

// UnmarshalText reads a name that MarshalText wrote.
func (s *Steering) UnmarshalText(text []byte) error {
	return parse(steeringNames, "Steering", text, (*uint8)(s))
}

// Headroom says what becomes of a drain that loses headroom.
type Headroom uint8

// The closed list of Headroom values.
const (
	// Warn says it and goes on.
	Warn Headroom = iota
	// Require waits for consent before the first step.
	Require
)

var headroomNames = []string{"Warn", "Require"}

// String returns the name that files and sentences use.
func (h Headroom) String() string { return nameOf(headroomNames, uint8(h)) }

// MarshalText writes the name; an unknown value is an error.
func (h Headroom) MarshalText() ([]byte, error) { return textOf(headroomNames, uint8(h)) }

// UnmarshalText reads a name that MarshalText wrote.
func (h *Headroom) UnmarshalText(text []byte) error {
	return parse(headroomNames, "Headroom", text, (*uint8)(h))
}

// Record says whether the start of the move is written down.
type Record uint8

// The closed list of Record values.
const (
	// Closed means that no move is recorded.
	Closed Record = iota
	// Open means that Before can be trusted.
	Open
)

var recordNames = []string{"Closed", "Open"}

// String returns the name that files and sentences use.
func (r Record) String() string { return nameOf(recordNames, uint8(r)) }

// MarshalText writes the name; an unknown value is an error.
func (r Record) MarshalText() ([]byte, error) { return textOf(recordNames, uint8(r)) }

// UnmarshalText reads a name that MarshalText wrote.
func (r *Record) UnmarshalText(text []byte) error {
	return parse(recordNames, "Record", text, (*uint8)(r))
}

// Decision says whether the targets can be relied on.
type Decision uint8

// The closed list of Decision values.
const (
	// Current means that the targets were decided with every goal of the State in view.
	Current Decision = iota
	// Outdated means that they were decided before a goal was set or taken back.
	Outdated
)

var decisionNames = []string{"Current", "Outdated"}

// String returns the name that files and sentences use.
func (d Decision) String() string { return nameOf(decisionNames, uint8(d)) }

// MarshalText writes the name; an unknown value is an error.
func (d Decision) MarshalText() ([]byte, error) { return textOf(decisionNames, uint8(d)) }

// UnmarshalText reads a name that MarshalText wrote.
func (d *Decision) UnmarshalText(text []byte) error {
	return parse(decisionNames, "Decision", text, (*uint8)(d))
}

// Hold says who else is at a workload that weir owns.
type Hold uint8

// The closed list of Hold values.
const (
	// Unheld means nobody.
	Unheld Hold = iota
	// RollingOut means that its pods are being replaced: which of them would go, or serve in
	// a moment, nobody can say.
	RollingOut
)

var holdNames = []string{"Unheld", "RollingOut"}

// String returns the name that files and sentences use.
func (h Hold) String() string { return nameOf(holdNames, uint8(h)) }

// MarshalText writes the name; an unknown value is an error.
func (h Hold) MarshalText() ([]byte, error) { return textOf(holdNames, uint8(h)) }

// UnmarshalText reads a name that MarshalText wrote.
func (h *Hold) UnmarshalText(text []byte) error { return parse(holdNames, "Hold", text, (*uint8)(h)) }

// Scaler says who else sets the replicas of a workload that weir owns.
type Scaler uint8

// The closed list of Scaler values.
const (
	// Unscaled means nobody.
	Unscaled Scaler = iota
	// Autoscaled means an autoscaler, between limits that weir may lower where a cluster is
	// drained. Elsewhere the number is the autoscaler's. It does nothing to a workload that
	// asks for no replicas.
	Autoscaled
	// Lowered means an autoscaler whose limits weir has lowered to what is applied. ReplicasUp
	// gives them back.
	Lowered
	// Operated means an autoscaler whose limits somebody else keeps, and would undo what weir
	// does to them. It may ask for replicas where there are none.
	Operated
)

var scalerNames = []string{"Unscaled", "Autoscaled", "Lowered", "Operated"}

// String returns the name that files and sentences use.
func (s Scaler) String() string { return nameOf(scalerNames, uint8(s)) }

// MarshalText writes the name; an unknown value is an error.
func (s Scaler) MarshalText() ([]byte, error) { return textOf(scalerNames, uint8(s)) }

// UnmarshalText reads a name that MarshalText wrote.
func (s *Scaler) UnmarshalText(text []byte) error {
	return parse(scalerNames, "Scaler", text, (*uint8)(s))
}

// Entry says how new pods of a cluster come up.
type Entry uint8

// The closed list of Entry values.
const (
	// Free means that pods come up in the mesh's endpoints.
	Free Entry = iota
	// Shut means that pods come up fenced.
	Shut
)

var entryNames = []string{"Free", "Shut"}

// String returns the name that files and sentences use.
func (e Entry) String() string { return nameOf(entryNames, uint8(e)) }

// MarshalText writes the name; an unknown value is an error.
func (e Entry) MarshalText() ([]byte, error) { return textOf(entryNames, uint8(e)) }

// UnmarshalText reads a name that MarshalText wrote.
func (e *Entry) UnmarshalText(text []byte) error {
	return parse(entryNames, "Entry", text, (*uint8)(e))
}

// DNS says whether answers may still name a cluster.
type DNS uint8

// The closed list of DNS values.
const (
	// Named means that answers name the cluster.
	Named DNS = iota
	// Cached means that answers no longer name it, but caches may.
	Cached
	// Expired means that the last answer has outlived its TTL and grace.
	Expired
	// Unused means that no name of the service gives single clusters away.
	Unused
)

var dnsNames = []string{"Named", "Cached", "Expired", "Unused"}

// String returns the name that files and sentences use.
func (d DNS) String() string { return nameOf(dnsNames, uint8(d)) }

// MarshalText writes the name; an unknown value is an error.
func (d DNS) MarshalText() ([]byte, error) { return textOf(dnsNames, uint8(d)) }

// UnmarshalText reads a name that MarshalText wrote.
func (d *DNS) UnmarshalText(text []byte) error { return parse(dnsNames, "DNS", text, (*uint8)(d)) }

// Quiet says whether requests still arrive at the fenced pods, measured at the server side.
type Quiet uint8

// The closed list of Quiet values.
const (
	// Busy means that something arrived since the last scrape, or that nothing was scraped yet.
	Busy Quiet = iota
	// Once means one scrape without an arrival, or more while connections may be held that could bring one.
	Once
	// Twice means two scrapes in a row without an arrival, and no such connection left: quiet.
	Twice
	// Overdue means that the limit for quiet has passed.
	Overdue
	// NotMeasured means that no source can tell; the limit must pass.
	NotMeasured
)

var quietNames = []string{"Busy", "Once", "Twice", "Overdue", "NotMeasured"}

// String returns the name that files and sentences use.
func (q Quiet) String() string { return nameOf(quietNames, uint8(q)) }

// MarshalText writes the name; an unknown value is an error.
func (q Quiet) MarshalText() ([]byte, error) { return textOf(quietNames, uint8(q)) }

// UnmarshalText reads a name that MarshalText wrote.
func (q *Quiet) UnmarshalText(text []byte) error {
	return parse(quietNames, "Quiet", text, (*uint8)(q))
}

// InFlight says whether fenced pods still work on requests.
type InFlight uint8

// The closed list of InFlight values.
const (
	// SomeWork means that requests are in work.
	SomeWork InFlight = iota
	// NoWork means that none is.
	NoWork
	// WorkOverdue means that the limit for work in flight has passed.
	WorkOverdue
	// WorkNotMeasured means that no source can tell; the limit must pass.
	WorkNotMeasured
)

var inFlightNames = []string{"SomeWork", "NoWork", "WorkOverdue", "WorkNotMeasured"}

// String returns the name that files and sentences use.
func (i InFlight) String() string { return nameOf(inFlightNames, uint8(i)) }

// MarshalText writes the name; an unknown value is an error.
func (i InFlight) MarshalText() ([]byte, error) { return textOf(inFlightNames, uint8(i)) }

// UnmarshalText reads a name that MarshalText wrote.
func (i *InFlight) UnmarshalText(text []byte) error {
	return parse(inFlightNames, "InFlight", text, (*uint8)(i))
}

// Sight says whether anyone can see into a cluster.
type Sight uint8

// The closed list of Sight values.
const (
	// Blind means that its counts are old: it gets no more weight, and its pods stay as they are.
	Blind Sight = iota
	// Seen means that its counts are current.
	Seen
)

var sightNames = []string{"Blind", "Seen"}

// String returns the name that files and sentences use.
func (s Sight) String() string { return nameOf(sightNames, uint8(s)) }

// MarshalText writes the name; an unknown value is an error.
func (s Sight) MarshalText() ([]byte, error) { return textOf(sightNames, uint8(s)) }

// UnmarshalText reads a name that MarshalText wrote.
func (s *Sight) UnmarshalText(text []byte) error {
	return parse(sightNames, "Sight", text, (*uint8)(s))
}

// Level says how well a write is known to have arrived.
type Level uint8

// The closed list of Level values.
const (
	// Unwritten means that nothing was written.
	Unwritten Level = iota
	// Waiting means written, with proxies still to come.
	Waiting
	// Timed means that a wait stood in for the proof.
	Timed
	// Proven means that every concerned proxy has it.
	Proven
)

var levelNames = []string{"Unwritten", "Waiting", "Timed", "Proven"}

// String returns the name that files and sentences use.
func (l Level) String() string { return nameOf(levelNames, uint8(l)) }

// MarshalText writes the name; an unknown value is an error.
func (l Level) MarshalText() ([]byte, error) { return textOf(levelNames, uint8(l)) }

// UnmarshalText reads a name that MarshalText wrote.
func (l *Level) UnmarshalText(text []byte) error {
	return parse(levelNames, "Level", text, (*uint8)(l))
}

// Lease says whether a proof still holds.
type Lease uint8

// The closed list of Lease values.
const (
	// Stale means older than ten seconds; the prover renews it by reading again.
	Stale Lease = iota
	// Fresh means younger than ten seconds.
	Fresh
	// Lapsed means that an istiod changed, or someone else wrote: only a new generation can be proven.
	Lapsed
)

var leaseNames = []string{"Stale", "Fresh", "Lapsed"}

// String returns the name that files and sentences use.
func (l Lease) String() string { return nameOf(leaseNames, uint8(l)) }

// MarshalText writes the name; an unknown value is an error.
func (l Lease) MarshalText() ([]byte, error) { return textOf(leaseNames, uint8(l)) }

// UnmarshalText reads a name that MarshalText wrote.
func (l *Lease) UnmarshalText(text []byte) error {
	return parse(leaseNames, "Lease", text, (*uint8)(l))
}
