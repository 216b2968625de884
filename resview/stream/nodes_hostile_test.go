// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/view"
)

// snapshotWith is a whole snapshot of one node, with something changed.
func snapshotWith(change func(*pb.ClusterSnapshot)) *pb.AgentMessage {
	s := &pb.ClusterSnapshot{SnapshotVersion: 5, Part: 1, Last: true, Nodes: []*pb.NodeResource{nodeToWire(oneNode("n0"))}}
	change(s)
	return &pb.AgentMessage{Body: &pb.AgentMessage_Snapshot{Snapshot: s}}
}

func nodeWith(change func(*pb.NodeResource)) *pb.AgentMessage {
	return snapshotWith(func(s *pb.ClusterSnapshot) { change(s.GetNodes()[0]) })
}

// updateWith is the event after snapshotWith, of a pod on its node, with something changed.
func updateWith(change func(*pb.IncrementalUpdate, *pb.NodeDelta)) *pb.AgentMessage {
	e := view.Event{Sequence: 6, Kind: view.PodAssigned, Name: "n0", Pod: "p", Amounts: view.Amounts{{Name: view.CPU, Value: 1}}}
	d := eventToWire(&e, 1, 0)
	u := &pb.IncrementalUpdate{Version: 6, NodeDeltas: []*pb.NodeDelta{d}}
	change(u, d)
	return &pb.AgentMessage{Body: &pb.AgentMessage_Update{Update: u}}
}

func podAmount(value int64) *pb.AgentMessage {
	return updateWith(func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) { d.GetPodAssigned().GetRequests()[0].Value = value })
}

// hostileNodes are what a member says of its nodes and breaks a rule by, each with what the hub answers.
func hostileNodes() map[string]struct {
	message *pb.AgentMessage
	says    string
} {
	type one = struct {
		message *pb.AgentMessage
		says    string
	}
	many := func(n int, prefix string) []*pb.NodeResource {
		return repeated(n, func(i int) *pb.NodeResource { return &pb.NodeResource{Name: fmt.Sprint(prefix, i)} })
	}
	return map[string]one{
		"another's snapshot":   {snapshotWith(func(s *pb.ClusterSnapshot) { s.ClusterName = "c2" }), `nodes of cluster "c2" told by the agent of "c1"`},
		"another's events":     {updateWith(func(u *pb.IncrementalUpdate, _ *pb.NodeDelta) { u.ClusterId = "c2" }), `nodes of cluster "c2" told by the agent of "c1"`},
		"negative allocatable": {nodeWith(func(n *pb.NodeResource) { n.Allocatable[0].Value = -1 }), `allocatable: "cpu" is -1`},
		"huge allocatable":     {nodeWith(func(n *pb.NodeResource) { n.Allocatable[0].Value = math.MaxInt64 }), "at most"},
		"zero":                 {nodeWith(func(n *pb.NodeResource) { n.Allocatable[0].Value = 0 }), "want more than 0"},
		"a resource twice":     {nodeWith(func(n *pb.NodeResource) { n.Allocatable = append(n.Allocatable, n.GetAllocatable()...) }), "there twice"},
		"a node twice":         {snapshotWith(func(s *pb.ClusterSnapshot) { s.Nodes = append(s.Nodes, s.GetNodes()...) }), "there already"},
		"no name":              {nodeWith(func(n *pb.NodeResource) { n.Name = "" }), "node of 0 characters"},
		"an odd name":          {nodeWith(func(n *pb.NodeResource) { n.Name = "../c2" }), "only lower-case letters"},
		"an escape sequence":   {nodeWith(func(n *pb.NodeResource) { n.Labels[0].Value = "\x1b[2J" }), "control characters"},
		"odd taint":            {nodeWith(func(n *pb.NodeResource) { n.Taints[0].Effect = "\x00" }), "control characters"},
		"odd resource":         {nodeWith(func(n *pb.NodeResource) { n.Allocatable[0].Name = "\n" }), "control characters"},
		"many nodes in a part": {snapshotWith(func(s *pb.ClusterSnapshot) { s.Nodes = many(1001, "n") }), "1001 of them, 1000 at most"},
		"many labels":          {nodeWith(func(n *pb.NodeResource) { n.Labels = make([]*pb.NodeLabel, 300) }), "300 of them"},
		"many taints":          {nodeWith(func(n *pb.NodeResource) { n.Taints = make([]*pb.NodeTaint, 300) }), "300 of them"},
		"many conditions":      {nodeWith(func(n *pb.NodeResource) { n.Conditions = make([]*pb.NodeCondition, 300) }), "300 of them"},
		"many resources":       {nodeWith(func(n *pb.NodeResource) { n.Reserved = make([]*pb.Amount, 300) }), "300 of them"},
		"part without a first": {snapshotWith(func(s *pb.ClusterSnapshot) { s.Part = 2 }), "does not follow"},
		"part zero":            {snapshotWith(func(s *pb.ClusterSnapshot) { s.Part = 0 }), "begin at 1"},
		"version zero":         {snapshotWith(func(s *pb.ClusterSnapshot) { s.SnapshotVersion = 0 }), "begin at 1"},
		"version at the end":   {snapshotWith(func(s *pb.ClusterSnapshot) { s.SnapshotVersion = math.MaxUint64 }), "is over"},
		"version goes back":    {snapshotWith(func(s *pb.ClusterSnapshot) { s.SnapshotVersion = 4 }), "numbers only grow"},
		"negative pod":         {podAmount(-1), `requests: "cpu" is -1`},
		"huge pod":             {podAmount(1 << 50), "at most"},
		"pods that add up": {updateWith(func(u *pb.IncrementalUpdate, d *pb.NodeDelta) {
			d.GetPodAssigned().GetRequests()[0].Value = view.MaxAmount
			second := proto.CloneOf(d)
			second.EventSequenceId = 7
			u.Version, u.NodeDeltas = 7, append(u.NodeDeltas, second)
		}), "at most"},
		"pod without a UID":  {updateWith(func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) { d.GetPodAssigned().Uid = "" }), "without a UID"},
		"pod without a node": {updateWith(func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) { d.GetPodAssigned().Node = "" }), "node of 0 characters"},
		"event of no kind":   {updateWith(func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) { d.Change = nil }), "unknown kind"},
		"empty change": {updateWith(func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) {
			d.Change = &pb.NodeDelta_NodeUpdated{NodeUpdated: &pb.NodeChange{Name: "n0"}}
		}), "no change is told"},
		"from the future":   {updateWith(func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) { d.AgeMs = -5 }), "age_ms"},
		"number of another": {updateWith(func(u *pb.IncrementalUpdate, _ *pb.NodeDelta) { u.Version = 7 }), "another number"},
		"no events":         {updateWith(func(u *pb.IncrementalUpdate, _ *pb.NodeDelta) { u.NodeDeltas = nil }), "0 events"},
		"many events": {updateWith(func(u *pb.IncrementalUpdate, d *pb.NodeDelta) {
			u.NodeDeltas = repeated(1001, func(int) *pb.NodeDelta { return d })
		}), "1001 of them"},
	}
}

// say sends messages after hello and a good snapshot, under the right numbers. A hub may refuse one of them while others are
// still to be sent: why is told by what is received.
func (r *rawAgent) say(t *testing.T, messages ...*pb.AgentMessage) {
	t.Helper()
	time.AfterFunc(time.Minute, func() { _ = r.conn.Close() }) // A test that waits for an answer in vain shall end.
	for i, m := range append([]*pb.AgentMessage{snapshotWith(func(*pb.ClusterSnapshot) {})}, messages...) {
		m.Sequence = uint64(i + 2)
		switch err := r.stream.Send(m); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatal(err)
		}
	}
}

func TestWhatAHostileMemberSaysOfItsNodesIsRefusedAndHurtsNoOther(t *testing.T) {
	for name, c := range hostileNodes() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				source := newNodes(2)
				h.startNodes("c2", source)
				wait(time.Second)
				since := h.Snapshot("c2").Since
				r := h.raw("c1", hello(1))
				r.say(t, c.message)
				refusal, err := r.refusal()
				if err != nil || !strings.Contains(refusal.GetReason(), c.says) {
					t.Fatalf("refused with %q (%v), want %q", refusal.GetReason(), err, c.says)
				}
				wait(time.Second)
				v := h.nodesOf(t, "c1")
				if diff := cmp.Diff([]view.Node{*oneNode("n0")}, contents(v.View), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(view.Node{}, "Allocated")); diff != "" || v.InStep {
					t.Errorf("its view, in step %t (-want +got):\n%s", v.InStep, diff)
				}
				if s := h.Snapshot("c1"); s.Connected || !strings.Contains(s.Reason, c.says) {
					t.Errorf("connected %t, reason %q", s.Connected, s.Reason)
				}
				source.pods(3)
				wait(time.Second)
				same(t, source.Snapshot(), h.nodesOf(t, "c2").View)
				if s := h.Snapshot("c2"); !s.Connected || !s.Since.Equal(since) {
					t.Errorf("the other member suffered: %+v", s)
				}
			})
		})
	}
}

func TestAMemberCanNotMakeAViewLargerThanItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		r := h.raw("c1", hello(1))
		go func() { // It may be refused before all is sent.
			for i := range uint64(2 + view.MaxNodes/1000) {
				part := snapshotWith(func(s *pb.ClusterSnapshot) {
					s.Part, s.Last = uint32(i+1), false
					s.Nodes = repeated(1000, func(n int) *pb.NodeResource { return &pb.NodeResource{Name: fmt.Sprintf("n%d-%d", i, n)} })
				})
				part.Sequence = i + 2
				if r.stream.Send(part) != nil {
					return
				}
			}
		}()
		refusal, err := r.refusal()
		if err != nil || refusal.GetCode() != codeTooMuch || !strings.Contains(refusal.GetReason(), "more than 20000 nodes") {
			t.Errorf("refused with %v (%v)", refusal, err)
		}
		if v := h.nodesOf(t, "c1"); v.View != nil {
			t.Errorf("half a snapshot became a view: %+v", v)
		}
	})
}

// wanted reads until the hub asks for a snapshot, and returns why.
func (r *rawAgent) wanted(t *testing.T) string {
	t.Helper()
	for {
		m, err := r.stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if refusal := m.GetRefusal(); refusal != nil {
			t.Fatalf("refused: %s", refusal.GetReason())
		}
		if why := m.GetViewAck().GetWantSnapshot(); why != "" {
			return why
		}
	}
}

func TestAViewThatIsOutOfStepIsMendedByASnapshot(t *testing.T) {
	deleted := func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) {
		d.Change = &pb.NodeDelta_PodDeleted{PodDeleted: &pb.PodChange{Node: "n0", Uid: "p", Requests: []*pb.Amount{{Name: view.CPU, Value: 5}}}}
	}
	cases := map[string]struct {
		messages []*pb.AgentMessage
		says     string
		code     string
	}{
		"events are missing": {[]*pb.AgentMessage{updateWith(func(u *pb.IncrementalUpdate, d *pb.NodeDelta) { u.Version, d.EventSequenceId = 9, 9 })}, "event 9 came, the last that is applied is 5", lossGap},
		"a beat knows more":  {[]*pb.AgentMessage{{Body: &pb.AgentMessage_Beat{Beat: &pb.Beat{SnapshotVersion: 8, ApiServerHealthy: true}}}}, "a beat came after event 8", lossGap},
		"two events, one number": {[]*pb.AgentMessage{
			updateWith(func(*pb.IncrementalUpdate, *pb.NodeDelta) {}), updateWith(func(_ *pb.IncrementalUpdate, d *pb.NodeDelta) { d.EventId = 77 }),
		}, "another one than before", lossConflict},
		"sums do not fit": {[]*pb.AgentMessage{updateWith(deleted)}, "gives back 5", lossOutOfStep},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				r := h.raw("c1", hello(1))
				if why := r.wanted(t); why != "no snapshot was received yet" {
					t.Errorf("first it wants one because %s", why)
				}
				r.say(t, c.messages...)
				if why := r.wanted(t); !strings.Contains(why, c.says) {
					t.Errorf("wanted because %q, want %q", why, c.says)
				}
				if v := h.nodesOf(t, "c1"); v.InStep || !strings.Contains(v.Missing, c.says) || v.View == nil {
					t.Errorf("meanwhile: %+v", v)
				}
				if n := testutil.ToFloat64(h.metrics.view.wanted.WithLabelValues(c.code)); n != 1 {
					t.Errorf("counted %g times", n)
				}
				again := snapshotWith(func(s *pb.ClusterSnapshot) { s.SnapshotVersion = 20 })
				again.Sequence = uint64(3 + len(c.messages))
				if err := r.stream.Send(again); err != nil {
					t.Fatal(err)
				}
				wait(time.Second)
				if v := h.nodesOf(t, "c1"); !v.InStep || v.View.Version() != 20 {
					t.Errorf("after the snapshot: %+v", v)
				}
			})
		})
	}
}

func TestAMemberThatIsOutOfStepAgainAndAgainIsTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		r := h.raw("c1", hello(1))
		var messages []*pb.AgentMessage
		for i := range uint64(resyncBurst + 1) {
			messages = append(messages,
				updateWith(func(u *pb.IncrementalUpdate, d *pb.NodeDelta) { u.Version, d.EventSequenceId = 1000+i, 1000+i }),
				snapshotWith(func(s *pb.ClusterSnapshot) { s.SnapshotVersion = 6 + i }))
		}
		r.say(t, messages...)
		refusal, err := r.refusal()
		if err != nil || refusal.GetCode() != codeInvalid || !strings.Contains(refusal.GetReason(), "do not add up") {
			t.Errorf("refused with %v (%v)", refusal, err)
		}
		if v := h.nodesOf(t, "c1"); v.InStep || !strings.Contains(v.Missing, "the last that is applied is") {
			t.Errorf("then: %+v", v)
		}
		again := h.raw("c1", hello(1))
		if why := again.wanted(t); !strings.Contains(why, "the last that is applied is") {
			t.Errorf("the next session wants a snapshot because %q", why)
		}
	})
}

func TestAMemberIsNotInStepWhileItsSnapshotLacksParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		r := h.raw("c1", hello(1))
		r.say(t, snapshotWith(func(s *pb.ClusterSnapshot) { s.SnapshotVersion, s.Last = 9, false }))
		wait(time.Second)
		if v := h.nodesOf(t, "c1"); v.InStep || !strings.Contains(v.Missing, "parts of it are missing") || v.View.Version() != 5 {
			t.Errorf("one part came: %+v", v)
		}
		rest := snapshotWith(func(s *pb.ClusterSnapshot) {
			s.SnapshotVersion, s.Part, s.Nodes = 9, 2, []*pb.NodeResource{nodeToWire(oneNode("n1"))}
		})
		rest.Sequence = 4
		if err := r.stream.Send(rest); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		if v := h.nodesOf(t, "c1"); !v.InStep || v.View.Version() != 9 {
			t.Errorf("both parts came: %+v", v)
		}
	})
}

func TestAnUpdateThatFailsHalfwayDatesWhatWasApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		r := h.raw("c1", hello(1))
		r.say(t)
		wait(5 * time.Second)
		first := h.nodesOf(t, "c1").ReceivedAt
		half := updateWith(func(u *pb.IncrementalUpdate, d *pb.NodeDelta) {
			late := proto.CloneOf(d)
			u.Version, late.EventSequenceId = 9, 9
			u.NodeDeltas = append(u.NodeDeltas, late)
		})
		half.Sequence = 3
		if err := r.stream.Send(half); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		if v := h.nodesOf(t, "c1"); v.View.Version() != 6 || !v.ReceivedAt.After(first) || v.InStep {
			t.Errorf("got %+v, the snapshot is of %s", v, first)
		}
	})
}

func TestEventsOfAMemberWithoutASnapshotChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		r := h.raw("c1", hello(1))
		m := updateWith(func(*pb.IncrementalUpdate, *pb.NodeDelta) {})
		m.Sequence = 2
		if err := r.stream.Send(m); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		if v := h.nodesOf(t, "c1"); v.View != nil || v.InStep || !h.Snapshot("c1").Connected {
			t.Errorf("got %+v", v)
		}
	})
}

// The numbers of one life of the agent mean nothing in the next, though they may seem to go on.
func TestEventsOfAnotherLifeOfTheAgentAreNotApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		first := h.raw("c1", hello(1))
		first.say(t)
		wait(time.Second)
		if err := first.stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		second := h.raw("c1", hello(2))
		if why := second.wanted(t); why != "the agent was started anew" {
			t.Errorf("wanted because %q", why)
		}
		m := updateWith(func(*pb.IncrementalUpdate, *pb.NodeDelta) {})
		m.Sequence = 2
		if err := second.stream.Send(m); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		if v := h.nodesOf(t, "c1"); v.InStep || v.View.Version() != 5 || v.View.Incarnation() != 1 {
			t.Errorf("got %+v at version %d", v, v.View.Version())
		}
	})
}
