// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package echo_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-io/weir/e2e/load/echo"
)

// pipes is a listener whose connections are in memory, so that a test decides
// how time passes.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, errors.New("refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// served is a server in a bubble of its own time.
type served struct {
	term   context.CancelFunc
	ended  chan error
	client *http.Client
}

func serve(t *testing.T, ending echo.Ending, limit time.Duration) *served {
	t.Helper()
	s, _ := newServer(t)
	ctx, term := context.WithCancel(t.Context())
	p := newPipes()
	v := &served{term: term, ended: make(chan error, 1)}
	transport := &http.Transport{DialContext: p.dial, DisableKeepAlives: true}
	v.client = &http.Client{Transport: transport}
	go func() {
		err := s.Serve(ctx, p, ending, limit)
		v.ended <- errors.Join(err, s.Close())
	}()
	t.Cleanup(transport.CloseIdleConnections)
	return v
}

// get asks for a path and gives the status, or zero and the error.
func (v *served) get(t *testing.T, path string) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://echo"+path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func TestExitLeavesOpenRequestsUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, echo.Exit, 0)
		failed := make(chan error, 1)
		go func() {
			_, err := v.get(t, "/slow?ms=2000")
			failed <- err
		}()
		synctest.Wait()
		begun := time.Now()
		v.term()
		if err := <-v.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("it took %s to end", took)
		}
		if err := <-failed; err == nil {
			t.Error("the open request was answered")
		}
	})
}

func TestDrainServesOnUntilNothingComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, echo.Drain, 20*time.Second)
		open := make(chan int, 1)
		go func() {
			status, err := v.get(t, "/slow?ms=4000")
			if err != nil {
				t.Error(err)
			}
			open <- status
		}()
		synctest.Wait()
		begun := time.Now()
		v.term()
		synctest.Wait()
		if status, err := v.get(t, "/readyz"); err != nil || status != http.StatusServiceUnavailable {
			t.Errorf("readiness is %d, %v", status, err)
		}
		if status, err := v.get(t, "/"); err != nil || status != http.StatusOK {
			t.Errorf("a new request got %d, %v", status, err)
		}
		if status := <-open; status != http.StatusOK {
			t.Errorf("the open request got %d", status)
		}
		if err := <-v.ended; err != nil {
			t.Error(err)
		}
		// Open until 4 s, then idle for 6 s; the looks are 100 ms apart.
		if took := time.Since(begun); took < 10*time.Second || took > 10500*time.Millisecond {
			t.Errorf("it ended after %s", took)
		}
	})
}

func TestDrainEndsAtItsLimitAndSaysWhatWasOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serve(t, echo.Drain, 5*time.Second)
		go v.get(t, "/slow?ms=60000")
		synctest.Wait()
		begun := time.Now()
		v.term()
		if err := <-v.ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it ended after %s", took)
		}
	})
}

func TestServeRefusesAnEndingItDoesNotKnow(t *testing.T) {
	s, _ := newServer(t)
	defer s.Close()
	if err := s.Serve(t.Context(), newPipes(), "later", 0); err == nil {
		t.Fatal("it served")
	}
}
