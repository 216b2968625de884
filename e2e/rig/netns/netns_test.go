// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package netns_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/rig/netns"
)

// prefix is not the rig's own, so that these tests leave a running fleet alone.
const prefix = "weirtest-"

func create(t *testing.T) netns.Space {
	t.Helper()
	s, err := netns.Create(t.Context(), fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), strings.ToLower(t.Name()[len("Test"):min(len(t.Name()), 24)])))
	if err != nil {
		t.Fatalf("namespaces need root: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Delete(context.Background()); err != nil { // The test's own context has ended here.
			t.Error(err)
		}
	})
	return s
}

func TestASocketBelongsToTheNamespaceItWasOpenedIn(t *testing.T) {
	s := create(t)
	if err := s.IP(t.Context(), "address add 10.198.7.1/32 dev lo", "address add 10.198.7.2/32 dev lo"); err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(t.Context(), "tcp", "10.198.7.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			_, _ = io.WriteString(c, "inside, from "+from)
			c.Close()
		}
	})
	defer wg.Wait()
	defer l.Close()
	for from, want := range map[string]string{"": "inside, from 10.198.7.1", "10.198.7.2": "inside, from 10.198.7.2"} {
		c, err := s.DialFrom(t.Context(), net.ParseIP(from), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(c)
		if err != nil || string(text) != want {
			t.Errorf("read %q, %v, want %q", text, err, want)
		}
		c.Close()
	}
}

func TestADialLeavesTheCallersNetworkAsItWas(t *testing.T) {
	s := create(t)
	before, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if c, err := s.Dial(t.Context(), "tcp", "127.0.0.1:9"); err == nil {
				c.Close()
				t.Error("something answers in an empty namespace")
			}
			after, err := net.InterfaceAddrs()
			if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("addresses %v (%v), before %v", after, err, before)
			}
		})
	}
	wg.Wait()
}

func TestDeleteForgetsAndMayBeRepeated(t *testing.T) {
	s := create(t)
	if s.ID() == 0 {
		t.Fatal("a new namespace has no number")
	}
	for range 2 {
		if err := s.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.Exists() || s.ID() != 0 {
		t.Error("it is still there")
	}
	left, err := netns.List(s.Name)
	if err != nil || len(left) != 0 {
		t.Errorf("list %v, %v", left, err)
	}
}

func TestOfProcessIsWhereTheProcessIs(t *testing.T) {
	s := create(t)
	cmd := s.Command(t.Context(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	p := netns.OfProcess(cmd.Process.Pid)
	// nsenter enters before it becomes the program, which takes a moment.
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for p.ID() != s.ID() {
		select {
		case <-limit:
			t.Fatal("it never entered")
		case <-tick.C:
		}
	}
	if err := p.Delete(t.Context()); err != nil || !s.Exists() {
		t.Errorf("a namespace without a name was deleted: %v", err)
	}
}

func TestAFailedToolSaysWhatItSaid(t *testing.T) {
	s := create(t)
	err := s.IP(t.Context(), "link set nosuch up")
	if err == nil || !strings.Contains(err.Error(), "nosuch") || !strings.Contains(err.Error(), s.Name) {
		t.Errorf("got %v", err)
	}
	if err := s.NFT(t.Context(), "add nonsense"); err == nil {
		t.Error("nonsense is a rule")
	}
}
