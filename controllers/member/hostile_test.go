// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// atServer makes the bench's member a server that answers as the handler does.
func (b *bench) atServer(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	b.cluster.Spec.APIEndpoint = server.URL
	b.cluster.Spec.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	b.cluster.Generation++
}

// opened is the connection, as if the epoch had been taken before the server turned hostile.
func (b *bench) opened(t *testing.T) *Member {
	t.Helper()
	m, err := b.door.Reach(t.Context(), b.cluster)
	if err != nil {
		t.Fatal(err)
	}
	b.door.term.epoch.Store(1)
	m.hold.sure, m.hold.wrote = true, 1
	return m
}

func TestAMemberCannotSendTheHubToAThirdPlace(t *testing.T) {
	var asked atomic.Int32
	third := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(third.Close)
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		b := newBench(t)
		b.atServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, third.URL+r.URL.Path, code) })
		if _, err := b.door.Open(t.Context(), b.cluster); err == nil {
			t.Errorf("%d: a redirection was taken for an epoch", code)
		}
		m := b.opened(t)
		if _, err := m.Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err == nil {
			t.Errorf("%d: a redirection was taken for an answer", code)
		}
		if err := m.LabelPod(t.Context(), manager, "demo", "a", "u", "weir.io/fence", "1", nil); err == nil {
			t.Errorf("%d: a redirection of a write was taken for an answer", code)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the third place was asked %d times", n)
	}
}

func TestAnAnswerWithoutAnEndCostsTheHubNoMoreThanABoundedOne(t *testing.T) {
	var sent atomic.Int64
	b := newBench(t)
	b.atServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		chunk := bytes.Repeat([]byte(" "), 1<<20)
		for r.Context().Err() == nil && sent.Load() < 1<<30 {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	_, err := b.opened(t).Delete(t.Context(), ruleRef)
	if !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
	if got := sent.Load(); got > 4*maxAnswer {
		t.Errorf("%d MiB were read", got>>20)
	}
}

func TestAnAnswerThatIsTooLongIsContact(t *testing.T) {
	b := newBench(t)
	b.atServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.Repeat([]byte(" "), maxAnswer+1))
	})
	m := b.opened(t)
	if err := m.Probe(t.Context()); err != nil {
		t.Errorf("a member that talks too much is taken for one that is off: %v", err)
	}
	if _, err := m.Delete(t.Context(), ruleRef); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}
