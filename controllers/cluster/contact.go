// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/liveness"
	"github.com/weir-io/weir/resview/stream"
)

// massLoss is how much of the fleet, in percent, may be silent before the hub suspects itself instead.
const massLoss = 50

// contact is how a member stands, by its agent and its API server.
type contact struct {
	liveness.Memory
	liveness.Judgement
}

// watch keeps between looks what states of members rest on. What it lost with a hub that was started anew it reads from
// status: a member that was Dead is so until contact has held.
type watch struct {
	mu      sync.Mutex
	members map[string]*watched
}

type watched struct {
	memory  liveness.Memory
	failing time.Time // since when its API server has not answered
	heard   bool      // its agent was, once
	silent  bool      // its agent is, now
}

// look takes one look at a member. Probed says that door is the answer to a probe.
func (w *watch) look(c *v1alpha1.Cluster, snap *stream.Snapshot, door error, probed bool, now time.Time) contact {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.member(c)
	interval, suspectAfter := c.Spec.Heartbeat()
	facts := liveness.Facts{
		Input: liveness.Input{
			Thresholds: liveness.Thresholds{BeatInterval: interval, SuspectAfter: int(suspectAfter)},
			LastBeat:   snap.LastBeat, Now: now,
		},
		DeadAfter: c.Spec.DeathAfter(),
	}
	if facts.LastBeat.IsZero() && c.Status.Agent != nil {
		facts.LastBeat = snap.Since // It was heard by an earlier hub: this one has missed it since it began to listen.
	}
	switch {
	case errors.Is(door, member.ErrNotConnected) && m.failing.IsZero():
		m.failing = now
	case !errors.Is(door, member.ErrNotConnected):
		m.failing = time.Time{}
	}
	facts.Probe = liveness.Probe{Answered: door == nil && probed, FailingSince: m.failing}
	m.heard, m.silent = !facts.LastBeat.IsZero(), liveness.Judge(facts.Input).State != liveness.Healthy
	facts.FleetSilent = w.massLoss()
	var j liveness.Judgement
	m.memory, j = liveness.Next(m.memory, facts)
	return contact{m.memory, j}
}

func (w *watch) member(c *v1alpha1.Cluster) *watched {
	if m := w.members[c.Name]; m != nil {
		return m
	}
	m := &watched{}
	if was := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionHealthy); was != nil &&
		(was.Reason == string(liveness.Dead) || was.Reason == string(liveness.Partitioned)) {
		m.memory = liveness.Memory{State: liveness.State(was.Reason), Since: was.LastTransitionTime.Time}
	}
	if w.members == nil {
		w.members = map[string]*watched{}
	}
	w.members[c.Name] = m
	return m
}

func (w *watch) massLoss() bool {
	heard, silent := 0, 0
	for _, m := range w.members {
		if m.heard {
			heard++
			if m.silent {
				silent++
			}
		}
	}
	return liveness.MassLoss(silent, heard, massLoss)
}

func (w *watch) forget(cluster string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.members, cluster)
}
