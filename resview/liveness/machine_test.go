// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package liveness

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// look is what there is to see of a member some time after start.
type look struct {
	at       time.Duration
	beat     time.Duration // of the newest; negative: none
	answers  bool
	failing  time.Duration // since when probes fail; negative: they do not
	evidence Evidence
	fleet    bool

	want   State
	reason Reason
	move   bool
}

const no = time.Duration(-1)

func (l look) facts() Facts {
	f := Facts{Evidence: l.evidence, FleetSilent: l.fleet, Probe: Probe{Answered: l.answers}}
	f.Now = start.Add(l.at)
	if l.beat >= 0 {
		f.LastBeat = start.Add(l.beat)
	}
	if l.failing >= 0 {
		f.Probe.FailingSince = start.Add(l.failing)
	}
	return f
}

func TestAMemberGoesThroughItsStatesByEvidence(t *testing.T) {
	const s = time.Second
	two, flows := Evidence{Unreachable: []string{"c1", "c3"}}, Evidence{TrafficFlows: true}
	tests := map[string][]look{
		"never heard stays unknown": {
			{at: 0, beat: no, failing: no, want: Unknown, reason: NeverHeard},
			{at: 500 * s, beat: no, failing: 0, want: Unknown, reason: NeverHeard},
		},
		"jitter changes nothing": {
			{at: 0, beat: 0, failing: no, want: Healthy, reason: Beating},
			{at: 29 * s, beat: 0, failing: no, want: Healthy, reason: Beating},
		},
		"a beat while suspect is health": {
			{at: 30 * s, beat: 0, failing: no, want: Suspect, reason: BeatsMissed},
			{at: 59 * s, beat: 0, failing: 31 * s, want: Suspect, reason: BothSilent},
			{at: 60 * s, beat: 60 * s, failing: no, want: Healthy, reason: Beating},
		},
		"both silent is dead, and nothing moves for that": {
			{at: 0, beat: 0, failing: no, want: Healthy, reason: Beating},
			{at: 30 * s, beat: 0, failing: 30 * s, want: Suspect, reason: BothSilent},
			{at: 59 * s, beat: 0, failing: 30 * s, want: Suspect, reason: BothSilent},
			{at: 60 * s, beat: 0, failing: 30 * s, want: Dead, reason: BothSilent},
			{at: 900 * s, beat: 0, failing: 30 * s, want: Dead, reason: BothSilent},
		},
		"probes that failed before it was missed do not count": {
			{at: 31 * s, beat: 0, failing: 0, want: Suspect, reason: BothSilent},
			{at: 60 * s, beat: 0, failing: 0, want: Dead, reason: BothSilent},
		},
		"agent silent, API server answers": {
			{at: 300 * s, beat: 0, answers: true, failing: no, want: Suspect, reason: AgentSilent},
		},
		"API server silent, agent beats": {
			{at: 300 * s, beat: 295 * s, failing: 0, want: Healthy, reason: Beating},
		},
		"two members say so": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: two, want: Dead, reason: BothSilent, move: true},
		},
		"one member says so twice": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: Evidence{Unreachable: []string{"c1", "c1"}}, want: Dead, reason: BothSilent},
		},
		"one member and a witness": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: Evidence{Unreachable: []string{"c1"}, Witness: true}, want: Dead, reason: BothSilent, move: true},
		},
		"a witness alone": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: Evidence{Witness: true}, want: Dead, reason: BothSilent},
		},
		"a person says so": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: Evidence{Declared: true}, want: Dead, reason: BothSilent, move: true},
		},
		"evidence against one that is heard moves nothing": {
			{at: 0, beat: 0, failing: no, evidence: two, want: Healthy, reason: Beating},
			{at: 40 * s, beat: 0, answers: true, failing: no, evidence: two, want: Suspect, reason: AgentSilent},
		},
		"traffic flows: cut off, not dead": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: flows, want: Partitioned, reason: TrafficFlows},
			{at: 90 * s, beat: 0, failing: 30 * s, evidence: two, want: Dead, reason: BothSilent, move: true},
			{at: 95 * s, beat: 0, failing: 30 * s, evidence: Evidence{TrafficFlows: true, Unreachable: two.Unreachable}, want: Partitioned, reason: TrafficFlows},
		},
		"it comes back, and must hold": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: two, want: Dead, reason: BothSilent, move: true},
			{at: 70 * s, beat: 70 * s, failing: no, evidence: two, want: Dead, reason: Returning},
			{at: 129 * s, beat: 120 * s, failing: no, want: Dead, reason: Returning},
			{at: 130 * s, beat: 130 * s, failing: no, want: Healthy, reason: Beating},
		},
		"contact breaks while it returns": {
			{at: 60 * s, beat: 0, failing: 30 * s, want: Dead, reason: BothSilent},
			{at: 70 * s, beat: 70 * s, failing: no, want: Dead, reason: Returning},
			{at: 110 * s, beat: 70 * s, failing: 105 * s, want: Dead, reason: BothSilent},
			{at: 120 * s, beat: 120 * s, failing: no, want: Dead, reason: Returning},
			{at: 179 * s, beat: 175 * s, failing: no, want: Dead, reason: Returning},
			{at: 180 * s, beat: 175 * s, failing: no, want: Healthy, reason: Beating},
		},
		"only its API server comes back": {
			{at: 60 * s, beat: 0, failing: 30 * s, want: Dead, reason: BothSilent},
			{at: 70 * s, beat: 0, answers: true, failing: no, want: Dead, reason: Returning},
			{at: 130 * s, beat: 0, answers: true, failing: no, want: Suspect, reason: AgentSilent},
		},
		"much of the fleet is silent: the hub suspects itself": {
			{at: 60 * s, beat: 0, failing: 30 * s, evidence: two, fleet: true, want: Suspect, reason: FleetSilent},
			{at: 90 * s, beat: 0, failing: 30 * s, want: Dead, reason: BothSilent},
			{at: 95 * s, beat: 0, failing: 30 * s, evidence: two, fleet: true, want: Dead, reason: FleetSilent},
		},
	}
	for name, looks := range tests {
		t.Run(name, func(t *testing.T) {
			var m Memory
			for _, l := range looks {
				was := m
				var j Judgement
				m, j = Next(m, l.facts())
				if m.State != l.want || j.Reason != l.reason || j.Move != l.move {
					t.Errorf("at %s: %s, %s, move %t; want %s, %s, move %t", l.at, m.State, j.Reason, j.Move, l.want, l.reason, l.move)
				}
				if m.State != was.State && !m.Since.Equal(start.Add(l.at)) || m.State == was.State && !m.Since.Equal(was.Since) {
					t.Errorf("at %s: since %s, before since %s", l.at, m.Since, was.Since)
				}
				if want := map[State]int{Healthy: 100, Suspect: 50}[l.want]; j.Weight != want {
					t.Errorf("at %s: weight %d, want %d", l.at, j.Weight, want)
				}
			}
		})
	}
}

func TestThresholdsAreTheMembersOwn(t *testing.T) {
	f := look{at: 9 * time.Second, beat: 0, failing: 4 * time.Second}.facts()
	f.Thresholds = Thresholds{BeatInterval: time.Second, SuspectAfter: 4}
	f.DeadAfter, f.Hold = 5*time.Second, 2*time.Second
	m, _ := Next(Memory{}, f)
	if m.State != Dead {
		t.Fatalf("after 9 s: %s", m.State)
	}
	for _, step := range []struct {
		at   time.Duration
		want State
	}{{10 * time.Second, Dead}, {11 * time.Second, Dead}, {12 * time.Second, Healthy}} {
		f.Now, f.LastBeat, f.Probe = start.Add(step.at), start.Add(step.at), Probe{Answered: true}
		if m, _ = Next(m, f); m.State != step.want {
			t.Errorf("after %s: %s, want %s", step.at, m.State, step.want)
		}
	}
}

// TestWhateverIsSeenAMemberIsDeadOnlyForCause draws whole lives of a member.
func TestWhateverIsSeenAMemberIsDeadOnlyForCause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Memory
		var f Facts
		f.Now = start
		silentSince, contactSince := start, start
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			f.Now = f.Now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "later")) * time.Second)
			if rapid.IntRange(0, 2).Draw(t, "beat") == 0 {
				f.LastBeat = f.Now
			}
			switch rapid.IntRange(0, 2).Draw(t, "probe") {
			case 0:
				f.Probe = Probe{Answered: true}
			case 1:
				if f.Probe.FailingSince.IsZero() {
					f.Probe = Probe{FailingSince: f.Now}
				}
			}
			f.FleetSilent = rapid.IntRange(0, 5).Draw(t, "fleet") == 0
			f.Evidence = Evidence{TrafficFlows: rapid.Bool().Draw(t, "flows"), Declared: rapid.Bool().Draw(t, "declared")}
			heard := Judge(f.Input).State == Healthy || f.Probe.Answered
			if heard {
				silentSince = f.Now
			} else {
				contactSince = f.Now
			}
			was := m
			var j Judgement
			m, j = Next(m, f)
			off := func(s State) bool { return s == Dead || s == Partitioned }
			switch {
			case off(m.State) && !off(was.State) && (heard || f.FleetSilent || f.Now.Sub(silentSince) < DefaultDeadAfter-20*time.Second):
				t.Fatalf("it became %s though heard %t, fleet silent %t, silent for %s", m.State, heard, f.FleetSilent, f.Now.Sub(silentSince))
			case off(was.State) && !off(m.State) && f.Now.Sub(contactSince) < DefaultHold:
				t.Fatalf("it became %s after %s of contact", m.State, f.Now.Sub(contactSince))
			case j.Move && (m.State != Dead || f.Evidence.TrafficFlows || f.FleetSilent || !f.Evidence.Declared || heard):
				t.Fatalf("work moves away from %+v by %+v", m, f)
			case j.Weight > 0 && off(m.State), j.Weight == 0 && m.State == Healthy:
				t.Fatalf("weight %d in state %s", j.Weight, m.State)
			}
			again, same := Next(was, f)
			if again != m || same != j {
				t.Fatalf("the same look gave %+v and %+v", m, again)
			}
		}
	})
}

func TestTheHubSuspectsItselfWhenMuchOfTheFleetIsSilent(t *testing.T) {
	for _, c := range []struct {
		silent, heard int
		want          bool
	}{{0, 0, false}, {1, 1, false}, {1, 2, false}, {2, 2, true}, {1, 3, false}, {2, 3, true}, {2, 4, false}, {3, 4, true}, {500, 1000, false}, {501, 1000, true}} {
		if got := MassLoss(c.silent, c.heard, 50); got != c.want {
			t.Errorf("%d of %d silent: %t", c.silent, c.heard, got)
		}
	}
}
