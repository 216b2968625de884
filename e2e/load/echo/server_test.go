// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package echo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/echo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer makes a server for pod "p" of "c1" and gives its ledger directory.
func newServer(t *testing.T) (*echo.Server, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := echo.New(dir, "p", "c1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// noted reads what the only ledger in dir says, without times.
func noted(t *testing.T, dir string) load.Ledger {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "p-*.ledger"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("ledgers %v, error %v", paths, err)
	}
	file, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	l, err := load.ParseLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Entries {
		l.Entries[i].Time = 0
	}
	return l
}

func TestEachRequestIsNotedBeforeItIsAnswered(t *testing.T) {
	entries := func(method, path string, events ...load.Event) []load.Entry {
		var all []load.Entry
		for _, e := range events {
			all = append(all, load.Entry{Event: e, Method: method, Path: path, ID: "id-1"})
		}
		return all
	}
	for name, c := range map[string]struct {
		method, path string
		gone         bool // the caller has left
		status       int
		want         []load.Entry
	}{
		"fast":              {"GET", "/", false, 200, entries("GET", "fast", load.Arrived, load.Answered)},
		"slow":              {"GET", "/slow?ms=1", false, 200, entries("GET", "slow", load.Arrived, load.Answered)},
		"slow, caller left": {"GET", "/slow?ms=60000", true, 400, entries("GET", "slow", load.Arrived, load.Abandoned)},
		"slow, no number":   {"GET", "/slow?ms=x", false, 400, entries("GET", "slow", load.Arrived, load.Answered)},
		"slow, too long":    {"GET", "/slow?ms=60001", false, 400, entries("GET", "slow", load.Arrived, load.Answered)},
		"once":              {"POST", "/once", false, 200, entries("POST", "once", load.Executed, load.Answered)},
		"once by GET":       {"GET", "/once", false, 405, nil},
		"another path":      {"GET", "/other", false, 404, nil},
		"alive":             {"GET", "/healthz", false, 200, nil},
		"ready":             {"GET", "/readyz", false, 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := newServer(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.gone {
				cancel()
			}
			req := httptest.NewRequestWithContext(ctx, c.method, c.path, nil)
			req.Header.Set(load.IDHeader, "id-1")
			req.Header.Set(load.RequestIDHeader, "not this one")
			// The ledger is read when the first byte of the answer is written.
			w := &spy{ResponseRecorder: httptest.NewRecorder()}
			w.first = func() {
				if diff := cmp.Diff(c.want, noted(t, dir).Entries); diff != "" {
					t.Error(diff)
				}
			}
			s.Handler().ServeHTTP(w, req)
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			if l := noted(t, dir); l.Pod != "p" || l.Cluster != "c1" || len(l.Entries) != len(c.want) {
				t.Errorf("ledger %+v", l)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// spy calls first before anything of an answer is written.
type spy struct {
	*httptest.ResponseRecorder
	first func()
}

func (s *spy) WriteHeader(status int) {
	s.tell()
	s.ResponseRecorder.WriteHeader(status)
}

func (s *spy) Write(b []byte) (int, error) {
	s.tell()
	return s.ResponseRecorder.Write(b)
}

func (s *spy) tell() {
	if s.first != nil {
		s.first()
		s.first = nil
	}
}

func TestAnswerNamesPodClusterAndRequest(t *testing.T) {
	s, _ := newServer(t)
	defer s.Close()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/once", nil)
	req.Header.Set(load.RequestIDHeader, "id-2")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, req)
	var got echo.Answer
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if want := (echo.Answer{Pod: "p", Cluster: "c1", ID: "id-2"}); got != want {
		t.Fatalf("answer %+v, want %+v", got, want)
	}
}

func TestARequestThatCannotBeNotedIsNotAnsweredAsGood(t *testing.T) {
	s, _ := newServer(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError {
		t.Fatalf("status %d", w.Code)
	}
}
