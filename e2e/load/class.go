// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
)

// Kind is what a request asks for and how its connection is used.
type Kind string

// The kinds of requests in the mix. Each fails in a way of its own when a
// server goes away, which is why a run needs all of them.
const (
	// KeepAlive is a short GET on a connection that is used again.
	KeepAlive Kind = "keepalive"
	// NewConn is a short GET on a connection of its own.
	NewConn Kind = "newconn"
	// Slow is a GET that the server holds for a while (two seconds by
	// default), so that it is often in flight when something is taken away.
	Slow Kind = "slow"
	// Once is a POST with an id that must be executed exactly once.
	Once Kind = "once"
)

// Protocol is the HTTP version a client speaks to its proxy or server.
type Protocol string

// The protocols in the mix. HTTP2 is clear text with prior knowledge.
const (
	HTTP1 Protocol = "h1"
	HTTP2 Protocol = "h2"
)

// Class is one stream of equal requests.
type Class struct {
	Protocol Protocol
	Kind     Kind
}

// String gives the name of the class in files, such as "h1/slow".
func (c Class) String() string { return string(c.Protocol) + "/" + string(c.Kind) }

// Share is a class with its part of the whole rate. Parts are relative: only
// their ratio to the sum counts.
type Share struct {
	Class Class
	Part  int
}

// DefaultMix is the mix of every run unless a test says otherwise: half of it
// over each protocol; of ten requests five reuse a connection, two open one,
// one is slow and two are POSTs.
func DefaultMix() []Share {
	var mix []Share
	for _, p := range []Protocol{HTTP1, HTTP2} {
		mix = append(mix,
			Share{Class{p, KeepAlive}, 5},
			Share{Class{p, NewConn}, 2},
			Share{Class{p, Slow}, 1},
			Share{Class{p, Once}, 2},
		)
	}
	return mix
}

// checkMix reports the first share that no schedule can be made of.
func checkMix(mix []Share) error {
	if len(mix) == 0 {
		return errors.New("the mix is empty: give at least one class")
	}
	seen := map[Class]bool{}
	for _, s := range mix {
		if s.Part <= 0 {
			return fmt.Errorf("class %s has part %d: parts must be positive", s.Class, s.Part)
		}
		if seen[s.Class] {
			return fmt.Errorf("class %s stands twice in the mix: add its parts up", s.Class)
		}
		seen[s.Class] = true
	}
	return nil
}
