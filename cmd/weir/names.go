// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/weir-io/weir/controllers/servicedns"
	"github.com/weir-io/weir/dns/server"
)

// namesOptions are the flags of weir hub that concern DNS.
type namesOptions struct {
	zone    string
	servers []string
	ttl     time.Duration
	listen  []string
}

func (o *namesOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.zone, "dns-zone", "", "global zone whose names the hub answers, such as global.example.com; empty: it answers none")
	f.StringArrayVar(&o.servers, "dns-name-server", nil, "name server of the zone as NAME or NAME=ADDRESS,ADDRESS; may be given several times")
	f.DurationVar(&o.ttl, "dns-ttl", 5*time.Second, "how long answers may be cached where a Service does not say it")
	f.StringSliceVar(&o.listen, "dns-listen", []string{":1053"}, "host:port to answer on over UDP and TCP; may be given several times")
}

// names is the zone that the hub answers, and who answers it. The zero value: none.
type names struct {
	zone   *servicedns.Zone
	server *server.Server
}

// newNames makes what the flags ask for. It listens nowhere yet.
func newNames(o namesOptions, to prometheus.Registerer, log *slog.Logger) (names, error) {
	if o.zone == "" {
		if len(o.servers) > 0 {
			return names{}, errors.New("--dns-name-server is given, and --dns-zone is not: name the zone that it serves")
		}
		return names{}, nil
	}
	zone, err := servicedns.ParseZone(o.zone, o.servers, o.ttl)
	if err != nil {
		return names{}, fmt.Errorf("--dns-zone, --dns-name-server, --dns-ttl: %w", err)
	}
	s, err := server.New(server.Config{Listen: o.listen, Metrics: to, Log: log})
	if err != nil {
		return names{}, fmt.Errorf("--dns-listen: %w", err)
	}
	return names{zone, s}, nil
}

// handlers are paths beside /metrics.
func (n names) handlers() map[string]http.Handler {
	if n.server == nil {
		return nil
	}
	return map[string]http.Handler{"/answers": n.server}
}

// join adds the server to the manager: it answers as long as the manager runs, and the hub is ready when it can.
func (n names) join(m manager.Manager) error {
	if n.server == nil {
		return nil
	}
	if err := m.Add(manager.RunnableFunc(n.server.Run)); err != nil {
		return fmt.Errorf("add the server of names: %w", err)
	}
	if err := m.AddReadyzCheck("names", func(*http.Request) error { return n.server.Ready() }); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}

// reconciler completes the one that keeps the names.
func (n names) reconciler(r servicedns.Reconciler) *servicedns.Reconciler {
	if n.server != nil { // an interface that holds no server would not be nil
		r.Zone, r.Server = n.zone, n.server
	}
	return &r
}
