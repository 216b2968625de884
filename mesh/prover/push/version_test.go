// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"testing"
)

const someUUID = "1f0c9a4e-7a63-4b0e-9d2b-0a8f5f6f9b11"

func TestNonceIsCutIntoVersionAndUUID(t *testing.T) {
	for name, tc := range map[string]struct {
		in      string
		counter uint64
		bad     bool
	}{
		"utc":           {in: "2026-08-27T12:45:20Z/7" + someUUID, counter: 7},
		"zone":          {in: "2026-08-27T12:45:20+02:00/12345" + someUUID, counter: 12345},
		"nothing sent":  {in: ""},
		"counter zero":  {in: "2026-08-27T12:45:20Z/0" + someUUID, bad: true},
		"leading zero":  {in: "2026-08-27T12:45:20Z/07" + someUUID, bad: true},
		"uuid alone":    {in: someUUID, bad: true},
		"version alone": {in: "2026-08-27T12:45:20Z/7", bad: true},
		"no counter":    {in: "2026-08-27T12:45:20Z/" + someUUID, bad: true},
		"short uuid":    {in: "2026-08-27T12:45:20Z/7" + someUUID[1:], bad: true},
		"negative":      {in: "2026-08-27T12:45:20Z/-7" + someUUID, bad: true},
		"overflow":      {in: "2026-08-27T12:45:20Z/18446744073709551616" + someUUID, bad: true},
		"no time":       {in: "yesterday/7" + someUUID, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := ParseNonce(tc.in)
			if tc.bad {
				if !errors.Is(err, ErrMalformed) {
					t.Fatalf("ParseNonce(%q) = %v, %v; want ErrMalformed", tc.in, n, err)
				}
				return
			}
			if err != nil || n.Version.Counter != tc.counter {
				t.Fatalf("ParseNonce(%q) = %v, %v; want counter %d", tc.in, n, err, tc.counter)
			}
			if got := n.String(); got != tc.in {
				t.Errorf("String() = %q, want %q", got, tc.in)
			}
		})
	}
}

func TestVersionReachesOnlyWhatIsNotLater(t *testing.T) {
	v := func(c uint64) Version { return Version{Counter: c} }
	for _, tc := range []struct {
		a, b uint64
		want bool
	}{{5, 5, true}, {6, 5, true}, {4, 5, false}, {0, 0, false}, {0, 1, false}, {1, 0, true}} {
		if got := v(tc.a).Reaches(v(tc.b)); got != tc.want {
			t.Errorf("%d reaches %d: %t, want %t", tc.a, tc.b, got, tc.want)
		}
	}
}

func FuzzParseNonce(f *testing.F) {
	f.Add("2026-08-27T12:45:20Z/7" + someUUID)
	f.Add("2026-08-27T12:45:20+02:00/12345" + someUUID)
	f.Add("")
	f.Add("/")
	f.Add(someUUID + someUUID)
	f.Add("2026-08-27T12:45:20.5Z/7" + someUUID)
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNonce(s)
		if err != nil {
			return
		}
		if s == "" {
			if !n.IsZero() {
				t.Fatalf("nothing read as %v", n)
			}
			return
		}
		if n.IsZero() || n.Version.IsZero() {
			t.Fatalf("%q read as nothing", s)
		}
		again, err := ParseNonce(n.String())
		if err != nil || again.Version.Counter != n.Version.Counter || again.ID != n.ID {
			t.Fatalf("%q read as %v, which reads as %v, %v", s, n, again, err)
		}
	})
}
