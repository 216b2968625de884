// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/resview/pb"
)

// itemKind orders what waits: what concerns the member goes first, then proofs, for which a shift may wait, then facts.
type itemKind int

const (
	kindMember itemKind = iota
	kindServed
	kindProof
	kindService
)

// itemKey names one fact.
type itemKey struct {
	kind itemKind
	name types.NamespacedName
}

// outbox holds the newest value of each fact and knows which of them the hub lacks. It holds state, not events: a hub
// that reads slowly makes it no longer, only less up to date.
type outbox struct {
	mu      sync.Mutex
	values  map[itemKey]value
	dirty   map[itemKey]struct{} // to be sent; without a value: removed, and the hub may still have it
	listed  bool                 // every Service has been set once
	ended   bool                 // the hub was told so in this session
	changed chan struct{}
}

// value is a fact and when it was set.
type value struct {
	message *pb.AgentMessage
	at      time.Time
}

func newOutbox() *outbox {
	return &outbox{
		values:  map[itemKey]value{},
		dirty:   map[itemKey]struct{}{},
		changed: make(chan struct{}, 1),
	}
}

func (o *outbox) put(key itemKey, message *pb.AgentMessage, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if old, known := o.values[key]; known && sameBody(old.message, message) {
		return
	}
	o.values[key] = value{message, now}
	o.dirty[key] = struct{}{}
	o.wake()
}

// remove forgets a Service and lets the hub know.
func (o *outbox) remove(name types.NamespacedName) {
	key := itemKey{kindService, name}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.values[key]; !known {
		return
	}
	delete(o.values, key)
	o.dirty[key] = struct{}{}
	o.wake()
}

// drop forgets a fact without a word.
func (o *outbox) drop(key itemKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.values, key)
	delete(o.dirty, key)
}

func (o *outbox) list() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listed = true
	o.wake()
}

// restart makes everything wait to be sent, for a session that has just begun. Removals need no word then: the end of
// the list says them.
func (o *outbox) restart() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.dirty)
	for key := range o.values {
		o.dirty[key] = struct{}{}
	}
	o.ended = false
	o.wake()
}

// next takes up to limit facts that the hub lacks, in order, and the end of the list when it is due: when every Service
// has been set and none of them waits. A fact that is taken counts as sent; if it is not, restart brings it back. Ages in
// the messages are those of now.
func (o *outbox) next(limit int, now time.Time) []*pb.AgentMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	keys := make([]itemKey, 0, len(o.dirty))
	for key := range o.dirty {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareKeys)
	keys = keys[:min(limit, len(keys))]
	out := make([]*pb.AgentMessage, 0, len(keys)+1)
	for _, key := range keys {
		delete(o.dirty, key)
		if v, known := o.values[key]; known {
			out = append(out, aged(v.message, now.Sub(v.at)))
		} else {
			out = append(out, gone(key.name))
		}
	}
	if o.listed && !o.ended && len(o.dirty) == 0 {
		o.ended = true
		out = append(out, &pb.AgentMessage{Body: &pb.AgentMessage_InventoryEnd{InventoryEnd: &pb.InventoryEnd{}}})
	}
	return out
}

func gone(name types.NamespacedName) *pb.AgentMessage {
	ref := &pb.ServiceRef{Namespace: name.Namespace, Name: name.Name}
	return &pb.AgentMessage{Body: &pb.AgentMessage_Gone{Gone: &pb.ServiceGone{Ref: ref}}}
}

func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.dirty)
}

func (o *outbox) wake() {
	select {
	case o.changed <- struct{}{}:
	default: // Whoever sends will look anyway.
	}
}

func compareKeys(a, b itemKey) int {
	if a.kind != b.kind {
		return int(a.kind) - int(b.kind)
	}
	if a.name.Namespace != b.name.Namespace {
		return strings.Compare(a.name.Namespace, b.name.Namespace)
	}
	return strings.Compare(a.name.Name, b.name.Name)
}
