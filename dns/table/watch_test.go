// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/weir-io/weir/dns/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a Watcher under test, in a synctest bubble.
type watched struct {
	t        *testing.T
	path     string
	mu       sync.Mutex
	serials  []uint32
	log      bytes.Buffer
	registry *prometheus.Registry
	now      chan os.Signal
	ended    chan error
}

func watch(ctx context.Context, t *testing.T, content string) *watched {
	t.Helper()
	w := &watched{t: t, path: filepath.Join(t.TempDir(), "names.yaml"), registry: prometheus.NewRegistry(), now: make(chan os.Signal), ended: make(chan error, 1)}
	w.replace(content)
	watcher, err := table.NewWatcher(table.WatcherConfig{
		Path: w.path, Every: time.Second, Metrics: w.registry, Log: slog.New(slog.NewTextHandler(w, nil)),
		Apply: func(l table.Loaded) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.serials = append(w.serials, l.Table.Serial())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { w.ended <- watcher.Run(ctx, w.now) }()
	synctest.Wait()
	return w
}

// Write keeps what is logged.
func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

// logged returns what was logged.
func (w *watched) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// replace renames another file over the one that is watched.
func (w *watched) replace(content string) {
	w.t.Helper()
	next := w.path + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, w.path); err != nil {
		w.t.Fatal(err)
	}
}

// after lets time pass.
func (w *watched) after(d time.Duration) {
	w.t.Helper()
	time.Sleep(d) //nolint:forbidigo // The clock of the bubble.
	synctest.Wait()
}

func (w *watched) want(serials ...uint32) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if fmt.Sprint(w.serials) != fmt.Sprint(serials) {
		w.t.Errorf("applied %v, want %v", w.serials, serials)
	}
}

func TestAFileIsReadAnewWhenItChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := watch(ctx, t, "serial: 1")
		w.want(1)
		w.after(time.Minute)
		w.want(1)
		w.replace("serial: 22")
		w.after(3 * time.Second)
		w.want(1, 22)
		w.after(time.Minute)
		w.want(1, 22)
		stop()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAFileThatIsStillChangingIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := watch(ctx, t, "serial: 1")
		w.after(time.Second / 2) // Between two looks.
		for i := range 5 {
			w.replace(fmt.Sprintf("serial: 2 # %s", strings.Repeat("x", i)))
			w.after(time.Second)
			w.want(1)
		}
		w.after(time.Second)
		w.want(1, 2)
		stop()
		<-w.ended
	})
}

func TestASignalHasTheFileReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := watch(ctx, t, "serial: 1")
		w.replace("serial: 2")
		w.now <- os.Interrupt
		synctest.Wait()
		w.want(1, 2)
		w.after(time.Minute)
		w.want(1, 2)
		stop()
		<-w.ended
	})
}

func TestAFileThatIsNotUsableLeavesTheLastGoodTableAndIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := watch(ctx, t, "serial: 1")
		w.replace("serial: one")
		w.after(time.Minute)
		w.want(1)
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		w.want(1)
		if n := strings.Count(w.logged(), "level=ERROR"); n != 2 || !strings.Contains(w.logged(), "names.yaml:1: serial: want a whole number") {
			t.Errorf("%d errors told:\n%s", n, w.logged())
		}
		w.replace("serial: 3")
		w.after(3 * time.Second)
		w.want(1, 3)
		const want = `
# HELP weir_dns_table_loads_total Tables read from the file, by outcome: applied or refused.
# TYPE weir_dns_table_loads_total counter
weir_dns_table_loads_total{outcome="applied"} 2
weir_dns_table_loads_total{outcome="refused"} 2
`
		if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
		stop()
		<-w.ended
	})
}

func TestAFirstFileThatIsNotUsableIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t.Context(), t, "serial: one")
		if err := <-w.ended; err == nil || !strings.Contains(err.Error(), "names.yaml:1: serial") {
			t.Errorf("got %v", err)
		}
		w.want()
	})
	if _, err := table.NewWatcher(table.WatcherConfig{Metrics: prometheus.NewRegistry()}); err == nil || !strings.Contains(err.Error(), "every 0s") {
		t.Errorf("got %v", err)
	}
}
