// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/view"
)

// ledger is what the server keeps of one member's nodes. Its methods are called under the member's lock; readers see
// what it publishes.
//
//	no book ──snapshot──▶ in step ──event missing, other event, sums do not fit──▶ lost ──snapshot──▶ in step
//
// While it is lost it drops events: only a snapshot, which it asks for in its acknowledgements, tells more.
type ledger struct {
	cluster string
	now     func() time.Time
	notify  func(map[Change]struct{})
	metrics *viewMetrics
	current atomic.Pointer[MemberView]
	resyncs *rate.Limiter

	open        bool
	gone        bool // the member is admitted no longer
	fresh       time.Duration
	incarnation uint64 // of the session
	book        *view.Book
	lost        *loss
	received    time.Time
	confirmed   time.Time

	loading *view.Book // a snapshot of which parts are missing
	version uint64     // that it will have
	part    uint32     // that came last
}

// loss is why a full snapshot is wanted. The code is one of a closed list, the reason is for a person.
type loss struct {
	code, reason string
	asked        bool // in this session: once is enough, since nothing is lost in a session
}

// Codes of losses.
const (
	lossFirst       = "First"       // nothing is known yet
	lossIncarnation = "Incarnation" // the agent is another one
	lossGap         = "Gap"         // events are missing
	lossConflict    = "Conflict"    // one number, two events
	lossOutOfStep   = "OutOfStep"   // an event does not fit what is held
)

func newLedger(cluster string, now func() time.Time, notify func(map[Change]struct{}), metrics *viewMetrics) *ledger {
	l := &ledger{
		cluster: cluster, now: now, notify: notify, metrics: metrics, fresh: 3 * DefaultBeatInterval,
		resyncs: rate.NewLimiter(rate.Every(resyncEvery), resyncBurst),
		lost:    &loss{code: lossFirst, reason: "no snapshot was received yet"},
	}
	l.publish()
	return l
}

// begin opens a session. What is known of the same agent stays good: it goes on where it stopped.
func (l *ledger) begin(incarnation uint64) {
	l.open, l.incarnation, l.loading = true, incarnation, nil
	if l.book != nil && l.book.Incarnation() != incarnation {
		l.lost = &loss{code: lossIncarnation, reason: "the agent was started anew"}
	}
	if l.lost != nil {
		l.lost.asked = false
		l.metrics.wanted.WithLabelValues(l.lost.code).Inc()
	}
	l.publish()
}

func (l *ledger) end() {
	l.open, l.loading = false, nil
	l.publish()
}

// forget ends it for good.
func (l *ledger) forget() {
	l.gone = true
	l.metrics.forget(l.cluster)
}

// ack says where the hub stands.
func (l *ledger) ack() *pb.HubMessage {
	out := &pb.ViewAck{}
	if l.book != nil {
		out.Incarnation, out.AppliedVersion = l.book.Incarnation(), l.book.Version()
	}
	if l.lost != nil && !l.lost.asked {
		out.WantSnapshot, l.lost.asked = l.lost.reason, true
	}
	return &pb.HubMessage{Body: &pb.HubMessage_ViewAck{ViewAck: out}}
}

// beat takes what a beat says was sent before it. It came in the same order as that: what is not applied was lost.
func (l *ledger) beat(b *pb.Beat) *refusal {
	switch {
	case l.lost != nil || l.loading != nil || b.GetSnapshotVersion() == 0:
		return nil
	case b.GetSnapshotVersion() != l.book.Version():
		return l.lose(lossGap, fmt.Sprintf("a beat came after event %d, the last that is applied is %d", b.GetSnapshotVersion(), l.book.Version()))
	case b.GetApiServerHealthy():
		l.confirmed = l.now()
		l.publish()
	}
	return nil
}

// snapshot takes in one part.
func (l *ledger) snapshot(s *pb.ClusterSnapshot) *refusal {
	if why := l.own(s.GetClusterName()); why != nil {
		return why
	}
	switch {
	case s.GetPart() == 1:
		if l.book != nil && l.book.Incarnation() == l.incarnation && s.GetSnapshotVersion() < l.book.Version() {
			return invalid("snapshot of version %d after version %d: numbers only grow", s.GetSnapshotVersion(), l.book.Version())
		}
		l.loading, l.version = view.NewBook(l.incarnation), s.GetSnapshotVersion()
	case l.loading == nil || s.GetPart() != l.part+1 || s.GetSnapshotVersion() != l.version:
		return invalid("snapshot: part %d of version %d does not follow part %d of version %d", s.GetPart(), s.GetSnapshotVersion(), l.part, l.version)
	}
	l.part = s.GetPart()
	for _, n := range s.GetNodes() {
		if err := l.loading.Add(nodeFromWire(n)); err != nil {
			l.loading = nil
			return refusalOf("snapshot", err)
		}
	}
	if !s.GetLast() {
		l.publish() // What it says until the last part is there is dropped, so it is not in step.
		return nil
	}
	l.loading.Seal(l.version)
	l.book, l.loading, l.lost = l.loading, nil, nil
	l.received = l.now()
	l.confirmed = l.received
	l.metrics.snapshots.Inc()
	l.publish()
	return nil
}

// update takes in events.
func (l *ledger) update(u *pb.IncrementalUpdate) *refusal {
	if why := l.own(u.GetClusterId()); why != nil {
		return why
	}
	deltas := u.GetNodeDeltas()
	if n := len(deltas); n == 0 || deltas[n-1].GetEventSequenceId() != u.GetVersion() {
		return invalid("update of version %d with %d events, the last of which has another number", u.GetVersion(), n)
	}
	if l.lost != nil || l.loading != nil {
		l.metrics.events.WithLabelValues(eventAwaiting).Add(float64(len(deltas)))
		return nil
	}
	received, before := l.now(), l.book.Version()
	for _, d := range deltas {
		if why := l.event(d, received); why != nil || l.lost != nil {
			if l.book.Version() != before {
				l.received = received
			}
			l.publish()
			return why
		}
	}
	l.received, l.confirmed = received, received
	l.publish()
	return nil
}

func (l *ledger) event(d *pb.NodeDelta, received time.Time) *refusal {
	e := eventFromWire(d)
	order, err := l.book.Take(&e)
	var broken *view.FaultError
	switch {
	case errors.As(err, &broken) && broken.Kind == view.OutOfStep:
		return l.lose(lossOutOfStep, fmt.Sprintf("event %d: %s", e.Sequence, broken.Reason))
	case err != nil:
		l.metrics.events.WithLabelValues(eventRefused).Inc()
		return refusalOf(fmt.Sprintf("event %d", e.Sequence), err)
	case order == view.Early:
		return l.lose(lossGap, fmt.Sprintf("event %d came, the last that is applied is %d", e.Sequence, l.book.Version()))
	case order == view.Conflict:
		return l.lose(lossConflict, fmt.Sprintf("event %d is another one than before", e.Sequence))
	case order == view.Repeat:
		l.metrics.events.WithLabelValues(eventRepeated).Inc()
		return nil
	}
	l.metrics.events.WithLabelValues(eventApplied).Inc()
	l.metrics.lag.Observe((time.Duration(d.GetAgeMs())*time.Millisecond + l.now().Sub(received)).Seconds())
	return nil
}

// lose asks for a snapshot. A member that is out of step again and again costs more than it tells: its session ends, and the
// next one begins with a snapshot.
func (l *ledger) lose(code, reason string) *refusal {
	l.metrics.wanted.WithLabelValues(code).Inc()
	l.lost = &loss{code: code, reason: reason}
	l.publish()
	if !l.resyncs.AllowN(l.now(), 1) {
		return invalid("the events of its nodes do not add up, snapshots do not help: %s", reason)
	}
	return nil
}

// own refuses what is said in another member's name. Nothing rests on the name; that it is there at all is a fault of
// the agent, or an attempt.
func (l *ledger) own(name string) *refusal {
	if name != "" && name != l.cluster {
		return invalid("nodes of cluster %q told by the agent of %q: an agent speaks for its own cluster only", clip(name), l.cluster)
	}
	return nil
}

func refusalOf(what string, err error) *refusal {
	var broken *view.FaultError
	if errors.As(err, &broken) && broken.Kind == view.TooMuch {
		return tooMuch("%s: %s", what, clip(broken.Reason))
	}
	return invalid("%s: %s", what, clip(err.Error()))
}

// publish shows how things stand.
func (l *ledger) publish() {
	old := l.current.Load()
	out := &MemberView{
		Cluster: l.cluster, ReceivedAt: l.received, ConfirmedAt: l.confirmed, Fresh: l.fresh,
		InStep: l.open && l.lost == nil && l.loading == nil,
	}
	switch {
	case l.lost != nil:
		out.Missing = l.lost.reason
	case !l.open:
		out.Missing = "the agent is not connected"
	case l.loading != nil:
		out.Missing = "a snapshot is coming, and parts of it are missing"
	}
	if l.book != nil {
		if old.View != nil && old.View.Incarnation() == l.book.Incarnation() && old.View.Version() == l.book.Version() && old.ReceivedAt.Equal(l.received) {
			out.View = old.View
		} else {
			out.View = l.book.View()
		}
	}
	l.current.Store(out)
	if !l.gone {
		l.metrics.show(out)
	}
	if old != nil && (old.View != out.View || old.InStep != out.InStep) {
		l.notify(map[Change]struct{}{{Cluster: l.cluster}: {}})
	}
}
