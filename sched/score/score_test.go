// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSuspicionAndASoftTaintHalveTheWeightForNewReplicasOnly(t *testing.T) {
	for _, c := range []struct {
		suspect, soft   bool
		standing, fresh int64
	}{{false, false, 20, 20}, {true, false, 20, 10}, {false, true, 20, 10}, {true, true, 20, 5}} {
		if standing, fresh := Weights(5, c.suspect, c.soft); standing != c.standing || fresh != c.fresh {
			t.Errorf("%+v: %d, %d", c, standing, fresh)
		}
	}
	for preferred, want := range map[int64]int64{0: 0, -3: 0, 1: 1, 1 << 40: MaxWeight} {
		if standing, fresh := Weights(preferred, false, false); standing != unit*want || fresh != standing {
			t.Errorf("%d: %d, %d", preferred, standing, fresh)
		}
	}
}

func TestAnOlderViewIsNeverBelievedMore(t *testing.T) {
	for age, want := range map[int64]int64{0: 1000, 60: 1000, 330: 500, 599: 1, 600: 0, 1 << 40: 0} {
		if got := Confidence(age); got != want {
			t.Errorf("%d s: %d", age, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		age := rapid.Int64Range(0, 700).Draw(t, "age")
		if a, b := Confidence(age), Confidence(age+1); b > a || a < 0 || a > 1000 {
			t.Fatalf("%d s: %d, a second later %d", age, a, b)
		}
	})
}

func TestRoomToBelieveIsJustEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, confidence := rapid.Int64Range(1, 1<<31).Draw(t, "n"), rapid.Int64Range(1, 1000).Draw(t, "confidence")
		room := ToBelieve(n, confidence)
		if Believed(room, confidence) < n || Believed(room-1, confidence) >= n {
			t.Fatalf("%d of %d at %d", Believed(room, confidence), room, confidence)
		}
	})
}
