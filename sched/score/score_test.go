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

func TestRoomToBelieveIsJustEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, confidence := rapid.Int64Range(1, 1<<31).Draw(t, "n"), rapid.Int64Range(1, 100).Draw(t, "confidence")
		room := ToBelieve(n, confidence)
		if Believed(room, confidence) < n || Believed(room-1, confidence) >= n {
			t.Fatalf("%d of %d at %d", Believed(room, confidence), room, confidence)
		}
	})
}
