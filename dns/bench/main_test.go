// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-io/weir/dns/server"
	"github.com/weir-io/weir/dns/table"
)

// serve answers the names of a run in this process.
func serve(t *testing.T, names int) string {
	t.Helper()
	dir := t.TempDir()
	if err := writeNames(dir, names); err != nil {
		t.Fatal(err)
	}
	loaded, err := table.Load(filepath.Join(dir, "table.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Listen: []string{"127.0.0.1:0"}, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Set(loaded.Table)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.Addresses()[0].String()
}

func TestEveryAnswerIsCountedAndOneWithoutAnAddressEndsTheRun(t *testing.T) {
	address := serve(t, 10)
	answers, lost, err := ask(t.Context(), address, 10, 50*time.Millisecond)
	if err != nil || answers < sockets*window || lost != 0 {
		t.Errorf("%d answers, %d lost, %v", answers, lost, err)
	}
	if _, _, err := ask(t.Context(), address, 11, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "an answer without an address") {
		t.Errorf("got %v", err)
	}
}

func TestTimesOfAProcessAreReadWhateverItsNameIs(t *testing.T) {
	user, system, err := ticks("7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 11 22 0 0 20 0 8 0 1 1 1")
	if err != nil || user != 11 || system != 22 {
		t.Errorf("%v %v %v", user, system, err)
	}
	for _, bad := range []string{"", "7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194560 1 0 0 0 x 22 0"} {
		if _, _, err := ticks(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	p := &process{title: "this test", pid: os.Getpid()}
	if got, err := p.cpu(); err != nil || got.all <= 0 || got.user > got.all {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAResultIsTheMedianAndItsRatioToWeirs(t *testing.T) {
	round := func(micros int) result {
		return result{answers: 1000, took: time.Second, cpu: time.Duration(micros) * time.Millisecond, user: time.Duration(micros) * time.Millisecond / 2}
	}
	var out bytes.Buffer
	err := write(&out, options{rounds: 3, round: time.Second, names: 10}, []*process{{title: "weir dns"}, {title: "other"}},
		[][]result{{round(30), round(10), round(20)}, {round(50), round(40), round(90)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"weir dns 20.0 10.0 30.0 10.0 1000 2 0 1.0 ×", "other 50.0 40.0 90.0 25.0 1000 5 0 2.5 ×"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
