// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
)

// A FaultError is something wrong with a manifest.
type FaultError struct {
	File    string
	Line    int    // from 1
	Field   string // path in the object; empty: the object as a whole
	Message string
}

// Error is the fault as editors and people read it: FILE:LINE: FIELD: MESSAGE.
func (f *FaultError) Error() string {
	if f.Field == "" {
		return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Field, f.Message)
}

// FaultErrors are all that was found, in the order of the files.
type FaultErrors []*FaultError

// maxShown is how many faults are told at once.
const maxShown = 20

// Error lists the faults, one a line, the first twenty of them.
func (f FaultErrors) Error() string {
	lines := make([]string, 0, maxShown+1)
	for i, fault := range f {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(f)-i))
			break
		}
		lines = append(lines, fault.Error())
	}
	return strings.Join(lines, "\n")
}
