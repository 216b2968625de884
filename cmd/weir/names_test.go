// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/weir-io/weir/controllers/fleettest"
)

func TestFlagsOfNamesThatCannotWorkAreRefusedByName(t *testing.T) {
	hub := []string{"hub", "--advertise-address", "h:1"}
	for says, args := range map[string][]string{
		"overlaps with clusterset.local":            {"--dns-zone", "clusterset.local"},
		`"x" is no address`:                         {"--dns-zone", "g.example.com", "--dns-name-server", "ns.g.example.com=x"},
		"--dns-zone is not":                         {"--dns-name-server", "ns.example.com"},
		"whole seconds between 0s and 1h":           {"--dns-zone", "g.example.com", "--dns-ttl", "2h"},
		`listen address "here" is not host:port`:    {"--dns-zone", "g.example.com", "--dns-listen", "here"},
		"--dns-zone, --dns-name-server, --dns-ttl:": {"--dns-zone", "a b"},
	} {
		if _, err := run(t, append(hub, args...)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

func TestNamesAreKeptByEveryHubAndAnsweredWhereAZoneIsGiven(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(fleettest.NewAPIServer(t).Kubeconfig("t"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: fleettest.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	none, err := newNames(namesOptions{listen: []string{":1053"}}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil || none.server != nil || none.zone != nil {
		t.Errorf("without a zone: %+v, %v", none, err)
	}
	o := namesOptions{zone: "global.example.com", servers: []string{"ns.example.net"}, ttl: 5 * time.Second, listen: []string{"127.0.0.1:0"}}
	answered, err := newNames(o, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil || answered.server == nil || answered.zone == nil {
		t.Fatalf("%+v, %v", answered, err)
	}
	if err := answered.join(m); err != nil {
		t.Error(err)
	}
	if err := none.join(m); err == nil || !strings.Contains(err.Error(), "start controller") {
		t.Errorf("twice the same: %v", err)
	}
}
