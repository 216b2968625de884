// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Dial connects to an address from inside the namespace. The address must be a number: names would be looked up in the
// caller's own network. It has the shape of [net.Dialer.DialContext].
func (s Space) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return s.DialFrom(ctx, nil, network, address)
}

// DialFrom is [Space.Dial] from an address of the namespace's own; nil lets the kernel choose one.
func (s Space) DialFrom(ctx context.Context, from net.IP, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := s.do(func() error {
		var d net.Dialer
		if from != nil {
			d.LocalAddr = &net.TCPAddr{IP: from}
		}
		var err error
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Listen opens a listening socket inside the namespace; connections are accepted from any goroutine.
func (s Space) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	var l net.Listener
	err := s.do(func() error {
		var c net.ListenConfig
		var err error
		l, err = c.Listen(ctx, network, address)
		return err
	})
	return l, err
}

// do runs f on a thread that is inside the namespace. A socket belongs to the namespace in which it was made, so what f
// opens stays there. When the thread can't be brought back it is left locked, and so ends with its goroutine.
func (s Space) do(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			done <- fmt.Errorf("open the thread's namespace: %w", err)
			return
		}
		defer home.Close()
		space, err := os.Open(s.Path())
		if err != nil {
			done <- fmt.Errorf("open namespace %q: %w", s.Name, err)
			return
		}
		defer space.Close()
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter namespace %q: %w", s.Name, err)
			return
		}
		err = f()
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}
