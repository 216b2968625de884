// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import "testing"

func TestATextIsClippedByCharactersAndSaysSo(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"short":          {"abc", "abc"},
		"just fits":      {"abcd", "abcd"},
		"too long":       {"abcde", "abc…"},
		"wide, fits":     {"äöüß", "äöüß"},
		"wide, too long": {"äöüßx", "äöü…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ClipAll([]string{c.text}, 4); got[0] != c.want {
				t.Errorf("got %q", got[0])
			}
		})
	}
}

func TestOneThingIsSaidWithoutAnS(t *testing.T) {
	for n, want := range map[int32]string{0: "0 pods", 1: "1 pod", 2: "2 pods"} {
		if got := Count(n, "pod"); got != want {
			t.Errorf("%d: got %q", n, got)
		}
	}
}
