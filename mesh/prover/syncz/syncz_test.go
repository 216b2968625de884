// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package syncz

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, name string) []Connection {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	list, err := Decode(f, 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRecordedSynczOfIstio131IsRead(t *testing.T) {
	list := read(t, "istio-1.31.json")
	var names []string
	for _, c := range list {
		names = append(names, c.Proxy)
		for what, s := range map[string]Status{"routes": c.Routes, "endpoints": c.Endpoints} {
			if s.Unreadable || s.Acked != s.Sent || s.Acked.Version.Counter < 90 || s.SentAt.IsZero() {
				t.Errorf("%s: %s are %+v", c.Proxy, what, s)
			}
		}
	}
	want := []string{
		"client-5bcb8b666-cxqqc.demo", "echo-5776cf79f5-b547m.demo", "echo-5776cf79f5-l7v9b.demo",
		"echo-5776cf79f5-xgn7n.demo", "echo-6cd5c875db-5qjck.prover", "istio-ingressgateway-754798898b-6dvhv.istio-ingress",
		"weir-canary-a.istio-system", "echo-6cd5c875db-97475.prover", "echo-fc5fbffc8-hxlst.rigtest",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("proxies (-want +got):\n%s", diff)
	}
	if list[5].Type != "router" || list[0].Type != "sidecar" || list[0].Version != "1.31.0" {
		t.Errorf("kinds were not read: %+v", list)
	}
}

func TestOlderShapeKeepsTheCounterAndIsToldApartByNonceAndTime(t *testing.T) {
	list := read(t, "istio-1.30-shape.json")
	first, behind, refused := list[0], list[1], list[2]
	if first.Routes.Acked.Version.Counter != 12 || first.Endpoints.Acked.Version.Counter != 12 {
		t.Errorf("counters of %s: %+v", first.Proxy, first)
	}
	if !first.Endpoints.SentAt.After(first.Routes.SentAt) {
		t.Errorf("endpoints of %s were not sent later than routes", first.Proxy)
	}
	if behind.Endpoints.Acked == behind.Endpoints.Sent || behind.Endpoints.Acked.Version != behind.Endpoints.Sent.Version {
		t.Errorf("%s should lack an acknowledgement of the same version: %+v", behind.Proxy, behind.Endpoints)
	}
	if refused.Routes.LastError == "" {
		t.Errorf("%s refused its routes: %+v", refused.Proxy, refused.Routes)
	}
}

func TestWhatIsCutShortOrTooLongIsNeverTakenForAWholeList(t *testing.T) {
	one := `{"proxy":"a.b"}`
	for name, tc := range map[string]struct {
		in    string
		fails bool
		count int
	}{
		"empty":           {in: "[]"},
		"null":            {in: "null"},
		"one":             {in: "[" + one + "]", count: 1},
		"no end":          {in: "[" + one, fails: true},
		"cut in an entry": {in: "[" + one + `,{"proxy":"c`, fails: true},
		"not a list":      {in: one, fails: true},
		"nothing":         {in: "", fails: true},
		"too many":        {in: "[" + strings.Repeat(one+",", 3) + one + "]", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := Decode(strings.NewReader(tc.in), 3)
			if (err != nil) != tc.fails || len(list) != tc.count {
				t.Errorf("Decode = %d entries, %v", len(list), err)
			}
		})
	}
}

func TestUnknownNonceIsMarkedNotGuessed(t *testing.T) {
	list, err := Decode(strings.NewReader(`[{"proxy":"a.b","route_sent":"some-other-shape","route_acked":"some-other-shape"}]`), 3)
	if err != nil || !list[0].Routes.Unreadable || !list[0].Routes.Acked.IsZero() {
		t.Errorf("Decode = %+v, %v", list, err)
	}
}

func TestEachAnswerOfIstiodHasItsOwnError(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"no token":      {status: http.StatusUnauthorized, want: ErrNoAccess},
		"not allowed":   {status: http.StatusForbidden, want: ErrNoAccess},
		"switched off":  {status: http.StatusNotFound, want: ErrNoAccess},
		"too large":     {status: http.StatusOK, body: "[" + strings.Repeat(" ", 4096) + "]", want: ErrTooLarge},
		"other failure": {status: http.StatusInternalServerError, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("Authorization is %q", r.Header.Get("Authorization"))
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer server.Close()
			c := Client{MaxBytes: 1024, Token: func(context.Context) (string, error) { return "secret", nil }}
			_, err := c.Syncz(t.Context(), strings.TrimPrefix(server.URL, "http://"))
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || tc.want == nil && errors.Is(err, ErrNoAccess) {
				t.Errorf("Syncz = %v, want %v", err, tc.want)
			}
		})
	}
}

func TestProxyThatWentElsewhereIsNotTakenForMissingAccess(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var c Client
	err := c.Config(t.Context(), strings.TrimPrefix(server.URL, "http://"), "a.b", func(io.Reader) error { return nil })
	if !errors.Is(err, ErrNotConnected) || errors.Is(err, ErrNoAccess) {
		t.Errorf("Config = %v", err)
	}
}

func TestSilentIstiodIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	c := Client{Timeout: 20 * time.Millisecond}
	if _, err := c.Syncz(t.Context(), strings.TrimPrefix(server.URL, "http://")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Syncz = %v", err)
	}
}

func TestOnlyKnownNewerIstiodIsTakenForOne(t *testing.T) {
	for version, keeps := range map[string]bool{
		"1.31.0-unknown-unknown": false, "1.31": false, "1.40.2": false, "1.30.3-abc-Clean": true, "1.31-alpha.0123abc": true, "1.32-alpha.0123abc": false,
		"1.9.0": true, "": true, "unknown-unknown-unknown": true, "2.0.0": true, "1.": true,
	} {
		if got := KeepsVersion(version); got != keeps {
			t.Errorf("KeepsVersion(%q) = %t", version, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"istio-1.31.json", "istio-1.30-shape.json"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add(`[{"resources":{"type.googleapis.com/envoy.config.route.v3.RouteConfiguration":{"sent":"x"}}}]`)
	f.Fuzz(func(t *testing.T, s string) {
		list, err := Decode(strings.NewReader(s), 10)
		if err != nil && list != nil {
			t.Errorf("a failed read gave %d entries", len(list))
		}
		if len(list) > 10 {
			t.Errorf("%d entries", len(list))
		}
	})
}
