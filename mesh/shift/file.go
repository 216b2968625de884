// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// WriteState writes s as indented JSON with its clusters sorted by name, so that equal
// States make equal files and a decision can be kept and replayed.
func WriteState(w io.Writer, s State) error {
	s.Clusters = slices.Clone(s.Clusters)
	slices.SortFunc(s.Clusters, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("state of %q: %w", s.Service, err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("state of %q: %w", s.Service, err)
	}
	return nil
}

// ReadState reads what WriteState wrote and validates it. Fields it does not know are an
// error: a decision replayed without them would be another one.
func ReadState(r io.Reader) (State, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return State{}, fmt.Errorf("state: %w", err)
	}
	if len(text) > maxFile {
		return State{}, fmt.Errorf("state: longer than %d bytes", maxFile)
	}
	var s State
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return State{}, fmt.Errorf("state: %w", err)
	}
	if err := Validate(s); err != nil {
		return State{}, fmt.Errorf("state of %q: %w", s.Service, err)
	}
	return s, nil
}

// maxFile bounds what ReadState reads, in bytes.
const maxFile = 8 << 20
