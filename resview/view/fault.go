// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "fmt"

// FaultKind says what a FaultError calls for.
type FaultKind int

const (
	// Invalid: no correct sender sends this.
	Invalid FaultKind = iota + 1
	// TooMuch: a bound was broken.
	TooMuch
	// OutOfStep: it does not fit what is held, as after a loss. A full snapshot repairs that.
	OutOfStep
)

// FaultError is why an event or a node was not taken. Nothing of it was applied.
type FaultError struct {
	// Kind says what to do.
	Kind FaultKind
	// Reason says what is wrong, for a person.
	Reason string
}

// Error implements error.
func (f *FaultError) Error() string { return f.Reason }

func fault(kind FaultKind, format string, args ...any) error {
	return &FaultError{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}
