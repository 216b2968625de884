// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/echo"
	"github.com/weir-io/weir/e2e/load/generator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is an echo server on loopback behind a handler that a test may bend.
type site struct {
	url     string
	ledgers string
}

func newSite(t *testing.T, bend func(http.Handler) http.Handler) site {
	t.Helper()
	dir := t.TempDir()
	app, err := echo.New(dir, "echo-1", "c1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(bend(app.Handler()))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	return site{url: server.URL, ledgers: dir}
}

func plain(h http.Handler) http.Handler { return h }

// read gives the contents of all files in dir with the extension.
func read(t *testing.T, dir, ext string) [][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*."+ext))
	if err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	return files
}

// books reads everything a run left behind, as an outsider would.
func books(t *testing.T, out, ledgers string) load.Books {
	t.Helper()
	var b load.Books
	for _, file := range read(t, out, generator.RecordsExt) {
		records, err := load.ParseRecords(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Runs = append(b.Runs, load.Run{Client: "m", Records: records})
	}
	for _, file := range read(t, ledgers, "ledger") {
		l, err := load.ParseLedger(file)
		if err != nil {
			t.Fatal(err)
		}
		b.Ledgers = append(b.Ledgers, l)
	}
	return b
}

func config(s site, out string) generator.Config {
	return generator.Config{
		Client: "m", Targets: []generator.Target{{URL: s.url}}, Rate: 150, Seed: 7, Out: out,
		Duration: 1200 * time.Millisecond, SlowFor: 100 * time.Millisecond,
	}
}

// failing breaks every tenth request of the load in a way that depends on the
// next digit: an error status, a connection or stream cut off, and an answer to
// another request. It keeps the ids it broke.
type failing struct {
	mu     sync.Mutex
	broken map[string]bool
}

func (f *failing) bend(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(load.IDHeader)
		n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
		if err != nil || n%10 != 3 {
			h.ServeHTTP(w, r)
			return
		}
		f.mu.Lock()
		f.broken[id] = true
		f.mu.Unlock()
		switch n / 10 % 3 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			panic(http.ErrAbortHandler)
		default:
			r.Header.Set(load.IDHeader, "not-"+id)
			h.ServeHTTP(w, r)
		}
	})
}

func TestExactlyTheForcedFailuresAreLost(t *testing.T) {
	f := &failing{broken: map[string]bool{}}
	s := newSite(t, f.bend)
	out := t.TempDir()
	report, err := generator.Run(t.Context(), config(s, out))
	if err != nil {
		t.Fatal(err)
	}
	b := books(t, out, s.ledgers)
	account := load.Settle(b)
	lost := map[string]bool{}
	for _, failure := range account.Failures {
		lost[failure.ID] = true
	}
	if diff := cmp.Diff(f.broken, lost); diff != "" {
		t.Errorf("forced and lost differ:\n%s", diff)
	}
	if want := (load.Counts{Sent: account.Sent, OK: account.OK, Lost: account.Lost}); report.Counts != want {
		t.Errorf("the report says %+v, the records %+v", report.Counts, want)
	}
	if report.Sent != 180 || account.Sent != account.OK+account.Lost || account.Duplicated != 0 {
		t.Errorf("sent %d: account %+v", report.Sent, account)
	}
	// Nothing was sent twice: every request arrived at most once.
	arrived := map[string]int{}
	for _, e := range b.Ledgers[0].Entries {
		if e.Event == load.Arrived || e.Event == load.Executed {
			arrived[e.ID]++
		}
	}
	for id, n := range arrived {
		if n != 1 {
			t.Errorf("request %s arrived %d times", id, n)
		}
	}
	if len(report.Classes) != len(load.DefaultMix()) {
		t.Errorf("classes sent: %v", report.Classes)
	}
}

func TestNoAnswerStopsNeitherTheScheduleNorTheAccount(t *testing.T) {
	s := newSite(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			// The server watches for a caller that leaves once the body is read.
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				<-r.Context().Done()
			}
		})
	})
	c := config(s, t.TempDir())
	c.Timeout = 300 * time.Millisecond
	report, err := generator.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if report.Sent != 180 || report.Lost != 180 || report.Errors["timeout"] != 180 {
		t.Fatalf("report %+v", report)
	}
}

// deaf gives an address that refuses every connection. Its port stays taken until the test ends: one that was let go might be
// given to somebody who listens.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Close(fd); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	inet, ok := address.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("the socket has the address %v", address)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(inet.Port))
}

func TestAServerThatRefusesLosesEveryRequestAndNoneIsRetried(t *testing.T) {
	c := config(site{url: "http://" + deaf(t)}, t.TempDir())
	report, err := generator.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if report.Lost != 180 || report.Errors["connection refused"] != 180 {
		t.Fatalf("report %+v", report)
	}
}

func TestARunObeysItsControlDirectory(t *testing.T) {
	s := newSite(t, plain)
	out, control := t.TempDir(), t.TempDir()
	c := config(s, out)
	c.Duration, c.Control = 0, control
	type result struct {
		report load.Report
		err    error
	}
	done := make(chan result, 1)
	go func() {
		report, err := generator.Run(t.Context(), c)
		done <- result{report, err}
	}()
	if files := read(t, out, generator.RecordsExt); len(files) != 0 {
		t.Error("the run began before it was told to")
	}
	if err := generator.Start(control); err != nil {
		t.Fatal(err)
	}
	awaitSent(t, out, 50)
	at := time.Now()
	if err := generator.SetMark(control, "drain", at); err != nil {
		t.Fatal(err)
	}
	awaitSent(t, out, 250)
	if err := generator.Stop(control); err != nil {
		t.Fatal(err)
	}
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	w := r.report.Windows
	if len(w) != 2 || w[1].Name != "drain" || w[1].From != at.UnixNano() || w[0].Sent+w[1].Sent != r.report.Sent {
		t.Fatalf("windows %+v of %d", w, r.report.Sent)
	}
	if r.report.Lost != 0 || w[0].Sent == 0 || w[1].Sent == 0 {
		t.Fatalf("report %+v", r.report)
	}

	// A container that is started again finds the stop file and sends nothing.
	again, err := generator.Run(t.Context(), c)
	if err != nil || again.Sent != 0 {
		t.Fatalf("sent %d after the stop, error %v", again.Sent, err)
	}
	if n := len(read(t, out, generator.ReportExt)); n != 2 {
		t.Fatalf("%d reports", n)
	}
}

// awaitSent waits until the live file tells of at least n requests.
func awaitSent(t *testing.T, out string, n int) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var live generator.Live
		content, err := os.ReadFile(filepath.Join(out, generator.LiveFile))
		if err == nil {
			if err := json.Unmarshal(content, &live); err != nil {
				t.Fatal(err)
			}
		}
		if live.Sent >= n {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-tick.C:
		}
	}
}

func TestARunWaitsForWhatIsInFlightWhenItIsEnded(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	var once sync.Once
	s := newSite(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				once.Do(end)
			}
			h.ServeHTTP(w, r)
		})
	})
	c := config(s, t.TempDir())
	c.Duration = 0
	report, err := generator.Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	slow := report.Classes["h1/slow"].OK + report.Classes["h2/slow"].OK
	if report.Lost != 0 || slow == 0 {
		t.Fatalf("report %+v", report)
	}
}

func TestRunRefusesAConfigurationThatCannotGiveAnAccount(t *testing.T) {
	good := config(site{url: "http://127.0.0.1:1"}, t.TempDir())
	at := func(url string) func(*generator.Config) {
		return func(c *generator.Config) { c.Targets = []generator.Target{{URL: "http://echo:1"}, {URL: url}} }
	}
	for name, spoil := range map[string]func(*generator.Config){
		"no name":             func(c *generator.Config) { c.Client = "" },
		"no output":           func(c *generator.Config) { c.Out = "" },
		"no target":           func(c *generator.Config) { c.Targets = nil },
		"no port":             at("http://echo"),
		"https":               at("https://echo:1"),
		"a path":              at("http://echo:1/x"),
		"no rate":             func(c *generator.Config) { c.Rate = 0 },
		"slow past timeout":   func(c *generator.Config) { c.SlowFor = c.Timeout + 10*time.Second },
		"name with a slash":   func(c *generator.Config) { c.Client = "a/b" },
		"output is no folder": func(c *generator.Config) { c.Out = "/dev/null" },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			spoil(&c)
			if _, err := generator.Run(t.Context(), c); err == nil {
				t.Fatal("it ran")
			}
		})
	}
}
