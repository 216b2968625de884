// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package echo

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/journal"
)

// Server answers requests and notes them. It is safe for concurrent use.
type Server struct {
	pod, cluster string
	ledger       *journal.File
	log          *slog.Logger

	ready    atomic.Bool
	inFlight atomic.Int64
	// last is when the last request began or ended, in nanoseconds.
	last atomic.Int64
}

// Answer is the body of every answer to a request of the load.
type Answer struct {
	Pod     string `json:"pod"`
	Cluster string `json:"cluster"`
	ID      string `json:"id"`
}

// maxSlow bounds how long a caller can make the server hold a request.
const maxSlow = time.Minute

// New makes a server for the pod of a cluster that notes in a ledger of its own
// under dir. It is ready at once.
func New(dir, pod, cluster string, log *slog.Logger) (*Server, error) {
	now := time.Now()
	ledger, err := journal.Create(dir, pod, "ledger", now)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := ledger.Append(load.Header(now.UnixNano(), pod, cluster)); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	s := &Server{pod: pod, cluster: cluster, ledger: ledger, log: log}
	s.ready.Store(true)
	s.last.Store(now.UnixNano())
	return s, nil
}

// Close closes the ledger. Requests served after it fail.
func (s *Server) Close() error { return s.ledger.Close() }

// Handler gives the routes of the server.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.noted("fast", load.Arrived, nil))
	mux.HandleFunc("GET /slow", s.noted("slow", load.Arrived, hold))
	mux.HandleFunc("POST /once", s.noted("once", load.Executed, nil))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}

// noted serves one class of path: note the arrival, work, note the answer, and
// only then answer. A request that cannot be noted is answered with an error,
// since an answer without an entry would be no evidence.
func (s *Server) noted(path string, begin load.Event, work func(context.Context, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.enter()
		defer s.leave()
		id := requestID(r)
		if !s.note(w, r, begin, path, id) {
			return
		}
		if work != nil {
			if err := work(r.Context(), r); err != nil {
				event := load.Answered
				if r.Context().Err() != nil {
					event = load.Abandoned
				}
				if s.note(w, r, event, path, id) {
					http.Error(w, err.Error(), http.StatusBadRequest)
				}
				return
			}
		}
		if !s.note(w, r, load.Answered, path, id) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(Answer{Pod: s.pod, Cluster: s.cluster, ID: id}); err != nil {
			s.log.Debug("answer not sent", "path", path, "err", err)
		}
	}
}

// note writes one entry. On failure it answers the request and reports false.
func (s *Server) note(w http.ResponseWriter, r *http.Request, event load.Event, path, id string) bool {
	e := load.Entry{Time: time.Now().UnixNano(), Event: event, Method: r.Method, Path: path, ID: id}
	if err := s.ledger.Append(e.Line()); err != nil {
		s.log.Error("request not noted", "path", path, "err", err)
		http.Error(w, "the ledger cannot be written", http.StatusInternalServerError)
		return false
	}
	return true
}

// hold keeps the request for as long as its query asks, two seconds by default.
func hold(ctx context.Context, r *http.Request) error {
	span := 2 * time.Second
	if ms := r.URL.Query().Get("ms"); ms != "" {
		n, err := strconv.ParseUint(ms, 10, 32)
		if err != nil || time.Duration(n)*time.Millisecond > maxSlow {
			return fmt.Errorf("ms must be a number of milliseconds up to %d", maxSlow.Milliseconds())
		}
		span = time.Duration(n) * time.Millisecond
	}
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// requestID reads the id of the load, else the one that proxies know.
func requestID(r *http.Request) string {
	if id := r.Header.Get(load.IDHeader); id != "" {
		return id
	}
	return r.Header.Get(load.RequestIDHeader)
}

func (s *Server) enter() {
	s.inFlight.Add(1)
	s.last.Store(time.Now().UnixNano())
}

func (s *Server) leave() {
	s.last.Store(time.Now().UnixNano())
	s.inFlight.Add(-1)
}
