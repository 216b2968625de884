// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/resview/pb"
)

// member is what the server keeps of one cluster. Messages change it under its lock; readers see only the snapshots it
// publishes, at most one in publishInterval, so that a burst of facts does not copy the maps each time.
type member struct {
	cluster string
	// registration is the one that certificates of its agent name.
	registration string

	share   func(apis []string) *servedList
	now     func() time.Time
	notify  func(map[Change]struct{})
	current atomic.Pointer[Snapshot]
	opens   *rate.Limiter // sessions
	nodes   *ledger       // guarded by mu; its current is not

	mu       sync.Mutex
	settings Settings
	session  *session
	closed   bool
	targets  []*pb.Target
	asked    bool   // SetTargets was called: an empty list is then an answer, and before it none
	question uint64 // the last one asked

	state    Snapshot // Its maps are this member's own until they are published.
	shared   bool     // The maps of state are in a published snapshot too: copy before writing.
	bytes    int
	sizes    map[itemKey]int
	previous map[types.NamespacedName]struct{} // Services of earlier sessions that this one has not sent yet.

	changes     map[Change]struct{}
	published   time.Time
	publishSoon *time.Timer
}

func (s *Server) newMember(cluster, registration string) *member {
	now := s.now
	m := &member{
		cluster: cluster, registration: registration,
		share:   s.served.share,
		now:     now,
		notify:  s.subscribers.notify,
		nodes:   newLedger(cluster, now, s.viewSubscribers.notify, s.metrics.view),
		opens:   rate.NewLimiter(sessionsPerSecond, sessionsBurst),
		sizes:   map[itemKey]int{},
		changes: map[Change]struct{}{},
		// A hub that restarts must not ask with numbers that agents know from an earlier one.
		question: uint64(now().UnixNano()),
		state: Snapshot{
			Cluster:  cluster,
			Since:    now(),
			Services: map[types.NamespacedName]Fact[*pb.ServiceFacts]{},
			Proofs:   map[types.NamespacedName]Fact[*pb.ProofFacts]{},
			Targets:  map[types.NamespacedName]*pb.Target{},
		},
	}
	m.publishNow()
	return m
}

func (m *member) configure(settings Settings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings = settings
	m.nodes.fresh = freshBeats * settings.BeatInterval
}

// begin makes s the member's session. An older one is told that it was replaced, unless it is of a newer agent.
func (m *member) begin(s *session, hello *pb.Hello) *refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return &refusal{code: codeNotRegistered, reason: notRegistered(m.cluster)}
	}
	if why := s.reason(); why != nil {
		return why // It was given up before its hello came.
	}
	if old := m.session; old != nil {
		if old.incarnation > hello.GetIncarnation() {
			return &refusal{
				code:   codeSuperseded,
				reason: "a newer agent of this cluster is connected: stop one of the two, or give it another cluster's token",
			}
		}
		old.end(&refusal{
			code:   codeReplaced,
			reason: "another agent connected under this cluster's name: stop one of the two if both run",
		})
	}
	s.incarnation = hello.GetIncarnation()
	m.session = s
	m.own()
	m.state.Connected, m.state.Since, m.state.Reason = true, m.now(), ""
	m.state.Hello = hello
	m.state.InventoryComplete = false
	m.dropProofs(func(types.NamespacedName) bool { return true })
	m.previous = make(map[types.NamespacedName]struct{}, len(m.state.Services))
	for name := range m.state.Services {
		m.previous[name] = struct{}{}
	}
	m.nodes.begin(s.incarnation)
	m.changed(types.NamespacedName{})
	m.publishNow()
	return nil
}

// end records that a session is over. A session that was replaced changes nothing any more.
func (m *member) end(s *session, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session != s {
		return
	}
	m.session = nil
	m.nodes.end()
	m.state.Connected, m.state.Since, m.state.Reason = false, m.now(), reason
	m.changed(types.NamespacedName{})
	m.publishNow()
}

// refused records why no session came to be, for whoever looks at the member.
func (m *member) refused(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session != nil || m.state.Reason == reason {
		return
	}
	m.state.Reason = reason
	m.changed(types.NamespacedName{})
	m.publishNow()
}

// close ends the session for good.
func (m *member) close(why *refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.nodes.forget()
	if m.session != nil {
		m.session.end(why)
	}
	if m.publishSoon != nil {
		m.publishSoon.Stop()
	}
}

// setTargets gives each target the number of its question: that of the same question before, else a new one. What was
// proven of another question is dropped.
func (m *member) setTargets(targets []*pb.Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	byName := make(map[types.NamespacedName]*pb.Target, len(targets))
	for _, t := range targets {
		name := refName(t.GetRef())
		if before := m.state.Targets[name]; sameQuestion(before, t) {
			t.Question = before.GetQuestion()
		} else {
			m.question++
			t.Question = m.question
		}
		byName[name] = t
	}
	if m.asked && sameTargets(m.targets, targets) {
		return
	}
	m.targets, m.asked = targets, true
	if m.session != nil {
		m.session.wakeTargets()
	}
	m.own()
	m.state.Targets = byName // A new map: readers have the old one.
	m.dropProofs(func(name types.NamespacedName) bool {
		return m.state.Proofs[name].Value.GetQuestion() != byName[name].GetQuestion()
	})
	m.publish()
}

// wants says whether it is known what the member shall prove. A hub that has just started does not know yet: its agents
// keep what they were asked before, and with it what they have seen.
func (m *member) wants() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func (m *member) wantedTargets() []*pb.Target {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.targets
}

// apply takes a message that was checked already. Messages of a session that is not the member's any more are dropped.
func (m *member) apply(s *session, message *pb.AgentMessage) *refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session != s {
		return nil
	}
	now := m.now()
	if beat := message.GetBeat(); beat != nil {
		m.state.LastBeat, m.state.APIServerHealthy = now, beat.GetApiServerHealthy()
		m.publish()
		defer s.wakeAck()
		return m.nodes.beat(beat)
	}
	if known, why := m.applyNodes(message); known {
		s.wakeAck()
		return why
	}
	m.own()
	if why := m.applyFact(message, now); why != nil {
		return why
	}
	m.publish()
	return nil
}

// applyNodes takes what concerns the member's nodes, and says whether the message does.
func (m *member) applyNodes(message *pb.AgentMessage) (bool, *refusal) {
	switch body := message.GetBody().(type) {
	case *pb.AgentMessage_Snapshot:
		return true, m.nodes.snapshot(body.Snapshot)
	case *pb.AgentMessage_Update:
		return true, m.nodes.update(body.Update)
	}
	return false, nil
}

// ackNodes says where the hub stands with the member's nodes.
func (m *member) ackNodes() *pb.HubMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes.ack()
}

// beatLate says whether a beat of the open session is overdue.
func (m *member) beatLate() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.state.LastBeat
	if last.Before(m.state.Since) {
		last = m.state.Since
	}
	return m.now().Sub(last) > m.settings.BeatInterval+beatGrace
}

func (m *member) applyFact(message *pb.AgentMessage, now time.Time) *refusal {
	switch body := message.GetBody().(type) {
	case *pb.AgentMessage_Member:
		m.state.Member = Fact[*pb.MemberFacts]{Value: body.Member, ReceivedAt: now}
		m.changed(types.NamespacedName{})
		return m.account(itemKey{kind: kindMember}, proto.Size(body.Member))
	case *pb.AgentMessage_Served:
		m.state.served = m.share(body.Served.GetApis())
		m.changed(types.NamespacedName{})
		return m.account(itemKey{kind: kindServed}, proto.Size(body.Served))
	case *pb.AgentMessage_Service:
		name := refName(body.Service.GetRef())
		if _, known := m.state.Services[name]; !known && len(m.state.Services) >= maxServices {
			return tooMuch("more than %d services", maxServices)
		}
		m.state.Services[name] = Fact[*pb.ServiceFacts]{Value: body.Service, ReceivedAt: now}
		delete(m.previous, name)
		m.changed(name)
		return m.account(itemKey{kindService, name}, proto.Size(body.Service))
	case *pb.AgentMessage_Gone:
		m.forgetService(refName(body.Gone.GetRef()))
	case *pb.AgentMessage_Proof:
		name := refName(body.Proof.GetRef())
		if q := body.Proof.GetQuestion(); q == 0 || q != m.state.Targets[name].GetQuestion() {
			return nil // It crossed a new list of targets on the way.
		}
		m.state.Proofs[name] = Fact[*pb.ProofFacts]{Value: body.Proof, ReceivedAt: now}
		m.changed(name)
		return m.account(itemKey{kindProof, name}, proto.Size(body.Proof))
	case *pb.AgentMessage_InventoryEnd:
		for name := range m.previous {
			m.forgetService(name)
		}
		m.previous = nil
		m.state.InventoryComplete = true
		m.changed(types.NamespacedName{})
	}
	return nil
}

func (m *member) forgetService(name types.NamespacedName) {
	delete(m.previous, name)
	if _, known := m.state.Services[name]; !known {
		return
	}
	delete(m.state.Services, name)
	m.release(itemKey{kindService, name})
	if _, known := m.state.Proofs[name]; known {
		delete(m.state.Proofs, name)
		m.release(itemKey{kindProof, name})
	}
	m.changed(name)
}

func (m *member) dropProofs(drop func(types.NamespacedName) bool) {
	for name := range m.state.Proofs {
		if drop(name) {
			delete(m.state.Proofs, name)
			m.release(itemKey{kindProof, name})
			m.changed(name)
		}
	}
}

// account keeps the sum of what the member makes the hub remember, and refuses what goes over.
func (m *member) account(key itemKey, size int) *refusal {
	m.bytes += size - m.sizes[key]
	m.sizes[key] = size
	if m.bytes > maxMemberBytes {
		return tooMuch("facts of more than %d MiB in all", maxMemberBytes>>20)
	}
	return nil
}

func (m *member) release(key itemKey) {
	m.bytes -= m.sizes[key]
	delete(m.sizes, key)
}

// own makes the maps of state the member's own again.
func (m *member) own() {
	if !m.shared {
		return
	}
	m.state.Services, m.state.Proofs = maps.Clone(m.state.Services), maps.Clone(m.state.Proofs)
	m.shared = false
}

func (m *member) changed(service types.NamespacedName) {
	m.changes[Change{Cluster: m.cluster, Service: service}] = struct{}{}
}

// publish shows the state now, or as soon as the last snapshot is publishInterval old.
func (m *member) publish() {
	wait := m.published.Add(publishInterval).Sub(m.now())
	switch {
	case wait <= 0:
		m.publishNow()
	case m.publishSoon == nil:
		m.publishSoon = time.AfterFunc(wait, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if !m.closed {
				m.publishNow()
			}
		})
	}
}

func (m *member) publishNow() {
	if m.publishSoon != nil {
		m.publishSoon.Stop()
		m.publishSoon = nil
	}
	m.state.Version++
	snapshot := m.state
	m.current.Store(&snapshot)
	m.shared = true
	m.published = m.now()
	if len(m.changes) > 0 {
		m.notify(m.changes)
		m.changes = map[Change]struct{}{}
	}
}
