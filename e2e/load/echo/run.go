// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package echo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Ending is what the server does when it is told to end.
type Ending string

// The ways to end.
const (
	// Exit ends at once and leaves open requests unanswered, as a program does
	// that does not handle SIGTERM.
	Exit Ending = "exit"
	// Drain serves on until nothing has come for a while.
	Drain Ending = "drain"
)

// idleFor is how long a draining server must have had nothing to do. It is
// longer than a slow request of the load, so that clients which send only those
// do not look gone between two of them, and than proxies of other networks keep
// a connection that carries nothing: such a one may bring a request yet.
const idleFor = 6 * time.Second

// idleCheck is how often a draining server looks.
const idleCheck = 100 * time.Millisecond

// Serve answers HTTP/1.1, and HTTP/2 in clear text, on l until ctx ends; then it
// ends as told. With Drain it fails its readiness first, serves on until idle
// or until limit has passed, and finishes what is open. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener, ending Ending, limit time.Duration) error {
	if ending != Exit && ending != Drain {
		return fmt.Errorf("ending %q is not known: use %q or %q", ending, Exit, Drain)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: s.Handler(), Protocols: protocols, ReadHeaderTimeout: 10 * time.Second}

	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}

	if ending == Exit {
		err := server.Close()
		return errors.Join(err, closed(<-served))
	}
	s.ready.Store(false)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	s.awaitIdle(last)
	if err := server.Shutdown(last); err != nil {
		return errors.Join(fmt.Errorf("requests still open after %s: %w", limit, err), server.Close(), closed(<-served))
	}
	return closed(<-served)
}

// awaitIdle returns when nothing was open or came for idleFor, or ctx ends.
func (s *Server) awaitIdle(ctx context.Context) {
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if s.inFlight.Load() == 0 && now.Sub(time.Unix(0, s.last.Load())) >= idleFor {
				return
			}
		}
	}
}

// closed drops the error that a server gives when it was closed on purpose.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
