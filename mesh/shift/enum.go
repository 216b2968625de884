// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"slices"
	"strings"
)

// nameOf returns the name of v, or a name that no parser takes.
func nameOf(names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown(%d)", v)
}

func textOf(names []string, v uint8) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("value %d is not in the closed list %s", v, strings.Join(names, ", "))
	}
	return []byte(names[v]), nil
}

func parse(names []string, kind string, text []byte, into *uint8) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("%s %q is not known: use one of %s", kind, text, strings.Join(names, ", "))
	}
	*into = uint8(i) //nolint:gosec // The lists are far shorter than 256.
	return nil
}
