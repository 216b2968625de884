// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "fmt"

// FaultKind says what a Fault calls for.
type FaultKind int

const (
	// Invalid: no correct sender sends this.
	Invalid FaultKind = iota + 1
	// TooMuch: a bound was broken.
	TooMuch
	// OutOfStep: it does not fit what is held, as after a loss. A full snapshot repairs that.
	OutOfStep
)

// Fault is why an event or a node was not taken. Nothing of it was applied.
type Fault struct {
	// Kind says what to do.
	Kind FaultKind
	// Reason says what is wrong, for a person.
	Reason string
}

// Error implements error.
func (f *Fault) Error() string { return f.Reason }

func fault(kind FaultKind, format string, args ...any) *Fault {
	return &Fault{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}
