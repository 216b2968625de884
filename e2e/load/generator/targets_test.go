// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/generator"
)

// hosts notes which host each request asked a site for.
type hosts struct {
	mu  sync.Mutex
	saw map[string]string
}

func (h *hosts) bend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.saw[r.Header.Get(load.IDHeader)] = r.Host
		h.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func TestTargetsGetTheRequestsOfEachClassInTurn(t *testing.T) {
	one, two := &hosts{saw: map[string]string{}}, &hosts{saw: map[string]string{}}
	first, second := newSite(t, one.bend), newSite(t, two.bend)
	out := t.TempDir()
	c := config(first, out)
	c.Targets = append(c.Targets, generator.Target{URL: second.url, Host: "web.example.com"})
	report, err := generator.Run(t.Context(), c)
	if err != nil || report.Lost > 0 {
		t.Fatalf("%d lost, %v", report.Lost, err)
	}
	ahead := map[string]int{}
	for _, file := range read(t, out, generator.RecordsExt) {
		records, err := load.ParseRecords(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			host, want := one.saw[r.ID], strings.TrimPrefix(first.url, "http://")
			ahead[r.Class]++
			if r.Target == "web.example.com" {
				host, want = two.saw[r.ID], "web.example.com"
				ahead[r.Class] -= 2
			}
			if host != want || r.Target != want {
				t.Errorf("request %s names target %q and asked for %q, want %q", r.ID, r.Target, host, want)
			}
		}
	}
	for class, n := range ahead {
		if n != 0 && n != 1 {
			t.Errorf("%s: the first target got %d more than the second", class, n)
		}
	}
	if len(ahead) == 0 {
		t.Error("nothing was sent")
	}
}
