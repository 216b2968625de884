// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/weir-io/weir/cli"
)

func writeTable(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "names.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const oneName = `
serial: 7
global:
  origin: global.example.com
  clusters: [{name: c1, addresses: [192.0.2.1]}]
  services: [{namespace: demo, name: echo, clusters: [{name: c1, weight: 1}]}]
`

func TestATableIsCheckedWithoutServingIt(t *testing.T) {
	out, err := run(t, "dns", "--check", "--table", writeTable(t, oneName))
	if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), "echo.demo.global.example.com 5s c1 1 192.0.2.1") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = run(t, "dns", "--check", "-o", "json", "--table", writeTable(t, oneName))
	var printed struct {
		Serial uint32
		Names  []struct{ Name, Cluster string }
	}
	if err != nil || json.Unmarshal([]byte(out), &printed) != nil || printed.Serial != 7 || printed.Names[0].Cluster != "c1" {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err = run(t, "dns", "--check", "--table", writeTable(t, "zones: []")); err == nil || !strings.Contains(err.Error(), "names.yaml:1: zones: there is no such field") {
		t.Errorf("got %v", err)
	}
}

func TestAWayToServeNamesThatCannotWorkIsRefusedByName(t *testing.T) {
	table := writeTable(t, oneName)
	for want, args := range map[string][]string{
		"--table is empty":             nil,
		"--every 0s":                   {"--table", table, "--every", "0"},
		`--output "xml"`:               {"--table", table, "-o", "xml"},
		"must be above 0":              {"--table", table, "--max-tcp-connections", "0"},
		"--tcp-idle-timeout 0s":        {"--table", table, "--tcp-idle-timeout", "0"},
		"--lame-duck -1s":              {"--table", table, "--lame-duck", "-1s"},
		`listen address "53"`:          {"--table", table, "--listen", "53"},
		"read the table: stat missing": {"--table", "missing", "--listen", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0", "--lame-duck", "0"},
	} {
		_, err := run(t, append([]string{"dns"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v", args, err)
		}
		if code := cli.ExitCode(err); (code == cli.ExitUsage) != (args == nil || args[1] != "missing") {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}

// free returns an address on loopback that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually waits for what another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestNamesAreServedAndReadAnewOnASignal(t *testing.T) {
	path := writeTable(t, oneName)
	o := dnsOptions{table: path, every: time.Hour, metrics: free(t), health: free(t)}
	o.server.Listen = []string{free(t)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runDNS(ctx, o, slog.New(slog.DiscardHandler)) }()
	get := func(address, path string) (int, string) {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	ask := func() string {
		m := new(dns.Msg)
		m.SetQuestion("echo.demo.global.example.com.", dns.TypeA)
		a, err := dns.Exchange(m, o.server.Listen[0])
		if err != nil || len(a.Answer) != 1 {
			return ""
		}
		return a.Answer[0].(*dns.A).A.String()
	}
	eventually(t, "it is ready", func() bool { code, _ := get(o.health, "/readyz"); return code == http.StatusOK })
	if got := ask(); got != "192.0.2.1" {
		t.Errorf("answered %q", got)
	}
	if code, body := get(o.metrics, "/answers"); code != http.StatusOK || !strings.Contains(body, `"cluster":"c1"`) {
		t.Errorf("answers: %d %s", code, body)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(oneName, "192.0.2.1", "192.0.2.9")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new table is in force", func() bool { return ask() == "192.0.2.9" })
	if _, body := get(o.metrics, "/metrics"); !strings.Contains(body, `weir_dns_table_loads_total{outcome="applied"} 2`) {
		t.Error("no metric of the second table")
	}
	if code, _ := get(o.health, "/healthz"); code != http.StatusOK {
		t.Errorf("healthz: %d", code)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
