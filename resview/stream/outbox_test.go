// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/resview/pb"
)

// farEnd is a hub in ten lines: what it believes after the messages that reached it.
type farEnd struct {
	services map[string]string
	previous map[string]string // of earlier sessions, not sent in this one
	whole    bool
}

func (f *farEnd) session() {
	f.previous, f.whole = maps.Clone(f.services), false
}

func (f *farEnd) take(messages []*pb.AgentMessage) {
	for _, m := range messages {
		switch body := m.GetBody().(type) {
		case *pb.AgentMessage_Service:
			f.services[body.Service.GetRef().GetName()] = body.Service.GetResourceVersion()
			delete(f.previous, body.Service.GetRef().GetName())
		case *pb.AgentMessage_Gone:
			delete(f.services, body.Gone.GetRef().GetName())
		case *pb.AgentMessage_InventoryEnd:
			for k := range f.previous {
				delete(f.services, k)
			}
			f.previous, f.whole = nil, true
		}
	}
}

func TestTheListEndsOnlyAfterEveryFactOfIt(t *testing.T) {
	o, far := newOutbox(), &farEnd{services: map[string]string{}}
	o.list()
	for _, name := range []string{"a", "b"} {
		o.put(itemKey{kindService, key(name)}, &pb.AgentMessage{Body: &pb.AgentMessage_Service{Service: service(name, "0")}}, time.Time{})
	}
	if far.take(o.next(1, time.Time{})); far.whole {
		t.Errorf("it ended with %v", far.services)
	}
	if far.take(o.next(1, time.Time{})); !far.whole || len(far.services) != 2 {
		t.Errorf("whole: %t, with %v", far.whole, far.services)
	}
}

// Whatever is set and removed, however sending and losing of sessions fall in between: in the end the hub has what the
// agent has.
func TestHubEndsUpWithWhatTheAgentHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, far, want := newOutbox(), &farEnd{services: map[string]string{}}, map[string]string{}
		message := func(s *pb.ServiceFacts) *pb.AgentMessage {
			return &pb.AgentMessage{Body: &pb.AgentMessage_Service{Service: s}}
		}
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				n, v := name.Draw(t, "name"), fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "version"))
				want[n] = v
				o.put(itemKey{kindService, key(n)}, message(service(n, v)), time.Time{})
			},
			"remove": func(t *rapid.T) {
				n := name.Draw(t, "name")
				delete(want, n)
				o.remove(key(n))
			},
			"send": func(t *rapid.T) {
				messages := o.next(rapid.IntRange(1, 3).Draw(t, "limit"), time.Time{})
				far.take(messages)
				if n := len(messages); n == 0 || messages[n-1].GetInventoryEnd() == nil {
					return
				}
				if diff := cmp.Diff(want, far.services); diff != "" {
					t.Fatalf("at the end of the list the hub differs from the agent (-want +got):\n%s", diff)
				}
			},
			"lose": func(t *rapid.T) {
				o.next(rapid.IntRange(1, 3).Draw(t, "limit"), time.Time{})
				o.restart()
				far.session()
			},
			"listed": func(*rapid.T) { o.list() },
			"": func(t *rapid.T) {
				if n := o.waiting(); n > 4 {
					t.Fatalf("%d messages wait for 4 services", n)
				}
			},
		})
		o.list()
		for range 10 {
			far.take(o.next(batch, time.Time{}))
		}
		if diff := cmp.Diff(want, far.services); diff != "" || !far.whole {
			t.Fatalf("hub (whole: %t) differs from agent (-want +got):\n%s", far.whole, diff)
		}
		if more := o.next(batch, time.Time{}); len(more) != 0 {
			t.Fatalf("%d messages more when all was sent", len(more))
		}
	})
}
