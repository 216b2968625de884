// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/liveness"
	"github.com/weir-io/weir/resview/stream"
)

var errSilent = fmt.Errorf("x: %w", member.ErrNotConnected)

func TestAMemberIsDeadWhenNeitherAgentNorAPIServerIsHeard(t *testing.T) {
	steps := []struct {
		name   string
		at     time.Duration
		beat   time.Duration
		door   error
		state  liveness.State
		reason liveness.Reason
	}{
		{"heard", 0, 0, nil, liveness.Healthy, liveness.Beating},
		{"beats missed", 31 * time.Second, 0, errSilent, liveness.Suspect, liveness.BothSilent},
		{"credentials missing tells nothing", 35 * time.Second, 0, member.ErrNoCredentials, liveness.Suspect, liveness.BeatsMissed},
		{"silent again", 40 * time.Second, 0, errSilent, liveness.Suspect, liveness.BothSilent},
		{"for a while", 69 * time.Second, 0, errSilent, liveness.Suspect, liveness.BothSilent},
		{"for long", 70 * time.Second, 0, errSilent, liveness.Dead, liveness.BothSilent},
		{"back", 80 * time.Second, 80 * time.Second, nil, liveness.Dead, liveness.Returning},
		{"for good", 140 * time.Second, 135 * time.Second, nil, liveness.Healthy, liveness.Beating},
		{"its agent alone is silent", 300 * time.Second, 135 * time.Second, nil, liveness.Suspect, liveness.AgentSilent},
	}
	var w watch
	c := clusterOf(t)
	for _, s := range steps {
		snap := heard(0)
		snap.LastBeat = now.Add(s.beat)
		got := w.look(c, snap, s.door, true, now.Add(s.at))
		if got.State != s.state || got.Reason != s.reason {
			t.Errorf("%s: %s, %s; want %s, %s", s.name, got.State, got.Reason, s.state, s.reason)
		}
	}
}

func TestAHubThatWasStartedAnewGoesOnFromWhatStatusSays(t *testing.T) {
	var w watch
	c := clusterOf(t)
	c.Status.Agent = &v1alpha1.AgentStatus{}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionUnknown, Reason: "Dead"})
	snap := &stream.Snapshot{Cluster: "c2", Since: now} // Admitted, and not heard yet.
	for _, s := range []struct {
		at   time.Duration
		door error
		want liveness.State
	}{{0, errSilent, liveness.Dead}, {40 * time.Second, nil, liveness.Dead}, {101 * time.Second, nil, liveness.Suspect}} {
		if got := w.look(c, snap, s.door, true, now.Add(s.at)); got.State != s.want {
			t.Errorf("after %s: %s, %s; want %s", s.at, got.State, got.Reason, s.want)
		}
	}
	w.forget("c2")
	c.Status.Conditions = nil
	if got := w.look(c, snap, errSilent, true, now.Add(29*time.Second)); got.State != liveness.Healthy {
		t.Errorf("it was given no time to come back: %s", got.State)
	}
}

func TestWhenHalfTheFleetIsSilentNobodyIsDead(t *testing.T) {
	var w watch
	judge := func(name string, silence time.Duration) contact {
		c := clusterOf(t)
		c.Name = name
		door := error(nil)
		if silence > 0 {
			door = errSilent
		}
		snap := heard(silence)
		w.look(c, snap, door, true, now.Add(-time.Minute))
		return w.look(c, snap, door, true, now)
	}
	judge("c1", 0)
	if got := judge("c2", 2*time.Minute); got.State != liveness.Dead {
		t.Errorf("one of two: %s, %s", got.State, got.Reason)
	}
	if got := judge("c3", 2*time.Minute); got.State != liveness.Suspect || got.Reason != liveness.FleetSilent {
		t.Errorf("two of three: %s, %s", got.State, got.Reason)
	}
}

func TestTheConditionTellsTheState(t *testing.T) {
	cases := map[string]struct {
		contact contact
		want    string
		says    string
	}{
		"dead":        {contact{liveness.Memory{State: liveness.Dead}, liveness.Judgement{Reason: liveness.BothSilent}}, "Unknown Dead", "nothing new is placed there"},
		"returning":   {contact{liveness.Memory{State: liveness.Dead}, liveness.Judgement{Reason: liveness.Returning}}, "Unknown Dead", "it is heard again"},
		"partitioned": {contact{liveness.Memory{State: liveness.Partitioned}, liveness.Judgement{Reason: liveness.TrafficFlows}}, "Unknown Partitioned", "cut off from the hub"},
		"the hub":     {contact{liveness.Memory{State: liveness.Suspect}, liveness.Judgement{Reason: liveness.FleetSilent}}, "Unknown FleetSilent", "hub's own network"},
		"healthy":     {contact{liveness.Memory{State: liveness.Healthy}, liveness.Judgement{Reason: liveness.Beating}}, "True Beating", "in time"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := input{cluster: clusterOf(t), snapshot: heard(5 * time.Second), now: now, contact: c.contact, door: errors.New("x")}
			got := meta.FindStatusCondition(statusOf(in).Conditions, v1alpha1.ConditionHealthy)
			if string(got.Status)+" "+got.Reason != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("got %s %s, %q", got.Status, got.Reason, got.Message)
			}
		})
	}
}
