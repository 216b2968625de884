// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"fmt"
	"net/netip"
)

// maxErrors is how many errors of one document are told.
const maxErrors = 20

// FieldError is one thing wrong with a document.
type FieldError struct {
	// Field is the path of the field, such as global.services[2].hostname.
	Field string
	// Text says what is wrong and what to do.
	Text string
}

// Error writes both.
func (e FieldError) Error() string { return e.Field + ": " + e.Text }

// fieldErrors collects what is wrong, the first 20 of it.
type fieldErrors []FieldError

func (e *fieldErrors) add(field, format string, args ...any) {
	if len(*e) < maxErrors {
		*e = append(*e, FieldError{field, fmt.Sprintf(format, args...)})
	}
}

// check adds an error, and says whether there was none.
func (e *fieldErrors) check(field string, err error) bool {
	if err != nil {
		e.add(field, "%v", err)
	}
	return err == nil
}

func (e *fieldErrors) atMost(field string, n, most int) {
	if n > most {
		e.add(field, "%d are too many: %d are the most", n, most)
	}
}

func (e *fieldErrors) checkState(field string, s State) State {
	switch s {
	case "":
		return Synced
	case Synced, Stale, Unsynced:
	default:
		e.add(field, "%q is no state: give %s, %s or %s", s, Synced, Stale, Unsynced)
	}
	return s
}

func (e *fieldErrors) checkTTL(field string, t *TTL) {
	if t != nil && *t > MaxTTL {
		e.add(field, "%s is too long: 1h is the most", *t)
	}
}

func (e *fieldErrors) checkAddresses(field string, addresses []netip.Addr) {
	e.atMost(field, len(addresses), MaxAddresses)
	seen := map[netip.Addr]bool{}
	for i, a := range addresses {
		at := fmt.Sprintf("%s[%d]", field, i)
		if e.check(at, CheckAddress(a)) && seen[a] {
			e.add(at, "%s is listed twice: leave one", a)
		}
		seen[a] = true
	}
}

func (e *fieldErrors) checkShares(field string, shares []Share, gateways map[string][]netip.Addr) {
	seen := map[string]bool{}
	for i, s := range shares {
		at := fmt.Sprintf("%s[%d]", field, i)
		_, known := gateways[s.Name]
		switch {
		case s.Name == "":
			e.check(at+".name", errMissing)
		case seen[s.Name]:
			e.add(at+".name", "cluster %q is listed twice: leave one", s.Name)
		case !known:
			e.add(at+".name", "cluster %q is not in global.clusters: add it there with the addresses of its gateway", s.Name)
		}
		seen[s.Name] = true
		if s.Weight > MaxWeight {
			e.add(at+".weight", "%d is too much: %d is the most", s.Weight, MaxWeight)
		}
	}
}
