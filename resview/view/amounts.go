// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/binary"
	"slices"
	"strings"
)

// The names of resources that mean something here. Every other name is only a name.
const (
	CPU              = "cpu"
	Memory           = "memory"
	Pods             = "pods"
	EphemeralStorage = "ephemeral-storage"
)

// Amount is how much of one resource: of CPU in thousandths of a core, of everything else in whole units, which for
// memory and storage are bytes.
type Amount struct {
	Name  string
	Value int64
}

// Amounts are sorted by name; each name stands once, and none with zero.
type Amounts []Amount

// Of returns the amount under a name, zero if it is not there.
func (a Amounts) Of(name string) int64 {
	for _, m := range a {
		if m.Name == name {
			return m.Value
		}
	}
	return 0
}

// MakeAmounts sorts what a map holds and leaves out zeros. Negative amounts stay, and are refused where they are used.
func MakeAmounts(m map[string]int64) Amounts {
	out := make(Amounts, 0, len(m))
	for name, value := range m {
		if value != 0 {
			out = append(out, Amount{name, value})
		}
	}
	slices.SortFunc(out, func(a, b Amount) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// check says what is wrong with amounts that came from outside.
func (a Amounts) check(what string) error {
	if len(a) > MaxAmounts {
		return fault(TooMuch, "%s: %d resources, %d at most", what, len(a), MaxAmounts)
	}
	for i, m := range a {
		switch {
		case m.Name == "" || len(m.Name) > MaxName:
			return fault(Invalid, "%s: name of %d characters, want 1 to %d", what, len(m.Name), MaxName)
		case i > 0 && a[i-1].Name >= m.Name:
			return fault(Invalid, "%s: %q is out of order or there twice", what, m.Name)
		case m.Value <= 0:
			return fault(Invalid, "%s: %q is %d, want more than 0", what, m.Name, m.Value)
		case m.Value > MaxAmount:
			return fault(TooMuch, "%s: %q is %d, %d at most", what, m.Name, m.Value, MaxAmount)
		}
	}
	return nil
}

// encode writes amounts so that equal ones are equal strings.
func (a Amounts) encode() string {
	var out []byte
	for _, m := range a {
		out = appendText(out, m.Name)
		out = binary.AppendVarint(out, m.Value)
	}
	return string(out)
}

func decodeAmounts(s string) Amounts {
	var out Amounts
	for s != "" {
		var name string
		name, s = cutText(s)
		value, n := binary.Varint([]byte(s[:min(len(s), binary.MaxVarintLen64)]))
		s = s[n:]
		out = append(out, Amount{name, value})
	}
	return out
}

// appendText writes a text with its length before it.
func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

// cutText reads what appendText wrote, and returns what follows. It only reads what this package wrote.
func cutText(s string) (text, rest string) {
	size, n := binary.Uvarint([]byte(s[:min(len(s), binary.MaxVarintLen64)]))
	end := n + int(size) //nolint:gosec // It was the length of a string.
	return s[n:end], s[end:]
}
