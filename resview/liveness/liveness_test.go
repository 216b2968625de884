// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package liveness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestStateFollowsSilence(t *testing.T) {
	quick := Thresholds{BeatInterval: time.Second, SuspectAfter: 2, UnknownAfter: 5 * time.Second}
	tests := map[string]struct {
		thresholds Thresholds
		last, now  time.Time
		want       Verdict
	}{
		"never heard is unknown":         {want: Verdict{State: Unknown}, now: start},
		"fresh beat is healthy":          {last: start, now: start, want: Verdict{State: Healthy, Changes: 30 * time.Second}},
		"two missed are still healthy":   {last: start, now: start.Add(29 * time.Second), want: Verdict{State: Healthy, Missed: 2, Silence: 29 * time.Second, Changes: time.Second}},
		"three missed are suspect":       {last: start, now: start.Add(30 * time.Second), want: Verdict{State: Suspect, Missed: 3, Silence: 30 * time.Second, Changes: 30 * time.Second}},
		"long silence is unknown":        {last: start, now: start.Add(time.Minute), want: Verdict{State: Unknown, Missed: 6, Silence: time.Minute}},
		"thresholds are the member's":    {thresholds: quick, last: start, now: start.Add(2 * time.Second), want: Verdict{State: Suspect, Missed: 2, Silence: 2 * time.Second, Changes: 5 * time.Second}},
		"own limit to unknown":           {thresholds: quick, last: start, now: start.Add(7 * time.Second), want: Verdict{State: Unknown, Missed: 7, Silence: 7 * time.Second}},
		"beat from the future is now":    {last: start.Add(time.Hour), now: start, want: Verdict{State: Healthy, Changes: 30 * time.Second}},
		"nonsense thresholds do nothing": {thresholds: Thresholds{BeatInterval: -1, SuspectAfter: -1, UnknownAfter: -1}, last: start, now: start, want: Verdict{State: Healthy, Changes: 30 * time.Second}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Judge(Input{Thresholds: test.thresholds, LastBeat: test.last, Now: test.now})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// drawInput draws thresholds up to the longest there are, so that sums and products that run over are met.
func drawInput(t *rapid.T) Input {
	long := rapid.Int64Range(0, int64(forever))
	return Input{
		Thresholds: Thresholds{
			BeatInterval: time.Duration(long.Draw(t, "interval")),
			SuspectAfter: rapid.IntRange(0, 1<<40).Draw(t, "suspectAfter"),
			UnknownAfter: time.Duration(long.Draw(t, "unknownAfter")),
		},
		LastBeat: start,
		Now:      start.Add(time.Duration(rapid.Int64Range(0, int64(100*365*24*time.Hour)).Draw(t, "silence"))),
	}
}

var rank = map[State]int{Healthy: 0, Suspect: 1, Unknown: 2}

func TestLongerSilenceIsNeverBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		before := Judge(in)
		in.Now = in.Now.Add(time.Duration(rapid.Int64Range(0, int64(365*24*time.Hour)).Draw(t, "more")))
		after := Judge(in)
		if rank[after.State] < rank[before.State] || after.Missed < before.Missed {
			t.Fatalf("went from %+v to %+v by silence alone", before, after)
		}
	})
}

func TestChangesTellsWhenTheStateChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		v := Judge(in)
		if v.Changes == 0 {
			if v.State != Unknown {
				t.Fatalf("%+v never changes", v)
			}
			return
		}
		if v.Changes > 100*365*24*time.Hour {
			return // Past what a time can be moved by without running over.
		}
		in.Now = in.Now.Add(v.Changes - 1)
		if got := Judge(in); got.State != v.State {
			t.Fatalf("changed to %+v before %s", got, v.Changes)
		}
		in.Now = in.Now.Add(1)
		if got := Judge(in); got.State == v.State {
			t.Fatalf("still %s after %s", got.State, v.Changes)
		}
	})
}
