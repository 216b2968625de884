// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"net/netip"
	"sync"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/census"
)

// fakeProxy is one proxy and what it really uses: the truth that verdicts are
// held against.
type fakeProxy struct {
	mu     sync.Mutex
	pod    census.Pod
	kind   proxyKind
	conn   *fakeConn
	inbox  []fakeAnswer
	held   bool // its agent does not move
	refuse bool // it refuses what comes

	generation int64
	addresses  map[netip.Addr]bool
	started    bool // it has ever got anything
}

func (p *fakeProxy) connect(i *fakeIstiod) {
	p.disconnect()
	c := i.connect(p.pod.Proxy(), p.kind, false, func(a fakeAnswer) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.inbox = append(p.inbox, a)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = c
}

func (p *fakeProxy) disconnect() {
	p.mu.Lock()
	c := p.conn
	p.conn, p.inbox = nil, nil
	p.mu.Unlock()
	if c != nil {
		c.istiod.disconnect(c)
	}
}

// step applies one answer and acknowledges it, or refuses it.
func (p *fakeProxy) step() {
	p.mu.Lock()
	if p.held || p.conn == nil || len(p.inbox) == 0 {
		p.mu.Unlock()
		return
	}
	c, a := p.conn, p.inbox[0]
	p.inbox = p.inbox[1:]
	refusal := ""
	if p.refuse {
		refusal = "refused"
	} else {
		p.apply(a)
	}
	p.mu.Unlock()
	c.answer(a.typeURL, a.nonce, refusal)
}

func (p *fakeProxy) apply(a fakeAnswer) {
	p.started = true
	switch a.typeURL {
	case canary.TypeRoutes:
		p.generation = a.generation
	case canary.TypeEndpoints:
		p.addresses = a.addresses
	}
}

// lies tells what a proxy still does that a proof would deny: an older weight,
// or a fenced address.
func (p *fakeProxy) lies(generation int64, fenced []netip.Addr) (weights, fence bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started || p.kind == kindHidden {
		return false, false
	}
	weights = p.kind == kindWeighted && p.generation < generation
	for _, ip := range fenced {
		fence = fence || p.addresses[ip]
	}
	return weights, fence
}
