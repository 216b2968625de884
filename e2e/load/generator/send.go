// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/echo"
)

// sender turns arrivals into requests. It is safe for concurrent use.
type sender struct {
	base    *url.URL
	host    string
	name    string // what is asked for, as records name it
	timeout time.Duration
	slowFor time.Duration
	conns   map[load.Protocol]*conns
}

func newSender(c Config, t Target, base *url.URL) *sender {
	return &sender{
		base: base, host: t.Host, name: t.name(base), timeout: c.Timeout, slowFor: c.SlowFor,
		conns: map[load.Protocol]*conns{
			load.HTTP1: newConns(load.HTTP1, base.Host),
			load.HTTP2: newConns(load.HTTP2, base.Host),
		},
	}
}

// send carries out one request and fills in what became of it.
func (s *sender) send(ctx context.Context, class load.Class, r *load.Record) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	answer, status, err := s.exchange(ctx, class, r.ID)
	r.End = time.Now().UnixNano()
	r.Status = status
	if err != nil {
		r.Err = reason(ctx, err)
		return
	}
	r.Pod, r.Cluster = answer.Pod, answer.Cluster
}

// exchange sends the request and reads the whole answer.
func (s *sender) exchange(ctx context.Context, class load.Class, id string) (echo.Answer, int, error) {
	req, err := s.request(ctx, class.Kind, id)
	if err != nil {
		return echo.Answer{}, 0, err
	}
	conn, err := s.connection(ctx, class)
	if err != nil {
		return echo.Answer{}, 0, err
	}
	if class.Kind == load.NewConn {
		defer conn.Close()
	}
	resp, err := conn.RoundTrip(req)
	if err != nil {
		return echo.Answer{}, 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return echo.Answer{}, resp.StatusCode, err
	}
	answer, err := check(resp.StatusCode, body, id)
	return answer, resp.StatusCode, err
}

// connection gives a new connection or a kept one, as the class asks.
func (s *sender) connection(ctx context.Context, class load.Class) (*http.ClientConn, error) {
	if class.Kind == load.NewConn {
		return s.conns[class.Protocol].open(ctx)
	}
	return s.conns[class.Protocol].reserved(ctx)
}

// request makes the request of a kind.
func (s *sender) request(ctx context.Context, kind load.Kind, id string) (*http.Request, error) {
	u := *s.base
	method, path, body := http.MethodGet, "/", io.Reader(nil)
	switch kind {
	case load.Slow:
		path = "/slow"
		u.RawQuery = "ms=" + strconv.FormatInt(s.slowFor.Milliseconds(), 10)
	case load.Once:
		method, path, body = http.MethodPost, "/once", bytes.NewReader([]byte(id))
	case load.KeepAlive, load.NewConn:
	default:
		return nil, fmt.Errorf("kind %q is not known", kind)
	}
	u.Path = path
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if s.host != "" {
		req.Host = s.host
	}
	req.Header.Set(load.IDHeader, id)
	req.Header.Set(load.RequestIDHeader, id)
	return req, nil
}

// check reports why an answer does not count.
func check(status int, body []byte, id string) (echo.Answer, error) {
	var a echo.Answer
	if status != http.StatusOK {
		return a, fmt.Errorf("status %d", status)
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, errors.New("the answer is not from the application")
	}
	if a.ID != id {
		return a, errors.New("the answer is to another request")
	}
	return a, nil
}

// close ends all kept connections.
func (s *sender) close() {
	for _, c := range s.conns {
		c.close()
	}
}

// reason puts an error into one of few words, so that losses can be counted by
// it. HTTP/2's own errors have no exported type and carry stream numbers, so
// they are told by their text. What is not known keeps its text.
func reason(ctx context.Context, err error) string {
	var op *net.OpError
	text := err.Error()
	switch {
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case strings.Contains(text, "stream error"):
		return "stream reset"
	case strings.Contains(text, "GOAWAY"):
		return "connection going away"
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	default:
		return text
	}
}
