// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quiet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/weir-io/weir/mesh/prover/bounded"
)

// maxLine bounds one line of statistics.
const maxLine = 64 << 10

// ErrTooLarge means that a sidecar's statistics are larger than the bound.
var ErrTooLarge = errors.New("statistics are larger than the bound")

// source is one statistic that counts what arrives or what is in flight.
type source struct {
	metric string
	// label and prefix choose the series that are inbound. What the agent asks
	// on its own ports, health checks among it, has other names, and checks
	// that the agent answers for the application never pass the sidecar.
	label, prefix string
}

// arrivals are counters of requests and connections that came in for the
// application. Any of them is enough. They overlap, so they are never added.
var arrivals = []source{
	{metric: "envoy_http_downstream_rq_total", label: "http_conn_manager_prefix", prefix: "inbound_"},
	{metric: "envoy_cluster_upstream_rq_total", label: "cluster_name", prefix: "inbound|"},
	{metric: "envoy_cluster_upstream_cx_total", label: "cluster_name", prefix: "inbound|"},
	{metric: "envoy_tcp_downstream_cx_total", label: "tcp_prefix", prefix: "inbound|"},
	{metric: "istio_requests_total", label: "reporter", prefix: "destination"},
	{metric: "istio_tcp_connections_opened_total", label: "reporter", prefix: "destination"},
}

// inFlight are gauges of what the application is working on. A connection that
// the sidecar keeps open to the application without a request is not work, so
// connections count only where they are TCP's.
var inFlight = []source{
	{metric: "envoy_http_downstream_rq_active", label: "http_conn_manager_prefix", prefix: "inbound_"},
	{metric: "envoy_cluster_upstream_rq_active", label: "cluster_name", prefix: "inbound|"},
	{metric: "envoy_tcp_downstream_cx_active", label: "tcp_prefix", prefix: "inbound|"},
}

// Side says on which side of its proxy a pod's work arrives.
type Side string

const (
	// Application is a pod with a sidecar: what counts is what its application
	// is handed.
	Application Side = "Application"
	// Gateway is a pod that is nothing but a proxy: what counts is what passes
	// through.
	Gateway Side = "Gateway"
)

// through are the counters of a gateway. Requests count where it speaks HTTP;
// where it passes connections on, the bytes that came in do, since one
// connection carries many requests.
var through = []source{
	{metric: "envoy_http_downstream_rq_total", label: "http_conn_manager_prefix", prefix: "outbound_"},
	{metric: "envoy_tcp_downstream_cx_rx_bytes_total", label: "tcp_prefix", prefix: "outbound"},
}

// underway are the gauges of a gateway.
var underway = []source{
	{metric: "envoy_http_downstream_rq_active", label: "http_conn_manager_prefix", prefix: "outbound_"},
	{metric: "envoy_tcp_downstream_cx_active", label: "tcp_prefix", prefix: "outbound"},
}

// listener is a gauge that each listener of a proxy has, and own are the
// listeners that a gateway has though no Gateway asks it to listen.
const listener = "envoy_listener_downstream_cx_active"

var own = map[string]bool{"0.0.0.0_15021": true, "0.0.0.0_15090": true, "[__]_15021": true, "[__]_15090": true}

// idle is the counter of a gateway on which nothing listens: nothing arrives.
const idle = "no listener"

// uptime is how long the proxy has run.
const uptime = "envoy_server_uptime"

// Sample is one scrape of one sidecar.
type Sample struct {
	// Arrived holds for each counter that was found its sum over the inbound
	// series. Empty means that the sidecar does not export any.
	Arrived map[string]uint64
	// InFlight is the largest of the gauges found, if InFlightKnown.
	InFlight      uint64
	InFlightKnown bool
	// Uptime is how long the proxy has run, in whole seconds; 0 when it does
	// not tell. A smaller one than before tells of a restart that the counters
	// may hide.
	Uptime uint64
}

// Parse reads a proxy's statistics in the Prometheus text format, and fails when
// they are longer than most bytes. It keeps only lines of the statistics that count here, since a
// sidecar may export a hundred thousand.
func Parse(r io.Reader, most int64, side Side) (Sample, error) {
	kept, err := filter(r, most)
	if err != nil {
		return Sample{}, fmt.Errorf("read statistics: %w", err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(kept)
	if err != nil {
		return Sample{}, fmt.Errorf("read statistics: %w", err)
	}
	s := read(families, side)
	for _, m := range families[uptime].GetMetric() {
		if n, ok := count(m.GetUntyped().GetValue() + m.GetGauge().GetValue()); ok {
			s.Uptime = n
		}
	}
	return s, nil
}

// read sums the statistics of one side.
func read(families map[string]*dto.MetricFamily, side Side) Sample {
	counters, gauges := arrivals, inFlight
	if side == Gateway {
		counters, gauges = through, underway
	}
	s := Sample{Arrived: map[string]uint64{}}
	for _, src := range counters {
		if total, ok := src.sum(families); ok {
			s.Arrived[src.metric] = total
		}
	}
	for _, src := range gauges {
		if total, ok := src.sum(families); ok {
			s.InFlightKnown = true
			s.InFlight = max(s.InFlight, total)
		}
	}
	if side == Gateway && len(s.Arrived) == 0 && unused(families[listener].GetMetric()) {
		s.Arrived[idle], s.InFlightKnown = 0, true
	}
	return s
}

// sum adds up the series of a source; found says whether there was any.
func (s source) sum(families map[string]*dto.MetricFamily) (total uint64, found bool) {
	for _, m := range families[s.metric].GetMetric() {
		labels := make(map[string]string, len(m.GetLabel()))
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if n, ok := count(m.GetUntyped().GetValue()); ok && s.matches(labels) {
			total, found = total+n, true
		}
	}
	return total, found
}

// unused says whether a gateway's listeners are known and none of them is for anybody's traffic.
func unused(listeners []*dto.Metric) bool {
	for _, m := range listeners {
		for _, l := range m.GetLabel() {
			if l.GetName() == "listener_address" && !own[l.GetValue()] {
				return false
			}
		}
	}
	return len(listeners) > 0
}

// count turns a statistic's value into a number of things.
func count(value float64) (uint64, bool) {
	if math.IsNaN(value) || value < 0 || value > math.MaxInt64 {
		return 0, false
	}
	return uint64(value), true
}

func (s source) matches(labels map[string]string) bool {
	value, ok := labels[s.label]
	return ok && strings.HasPrefix(value, s.prefix)
}

// filter returns the lines that belong to a source.
func filter(r io.Reader, most int64) (*bytes.Buffer, error) {
	counted := bounded.New(r, most, ErrTooLarge)
	lines := bufio.NewScanner(counted)
	lines.Buffer(nil, maxLine)
	var kept bytes.Buffer
	for lines.Scan() {
		line := lines.Bytes()
		name, _, _ := bytes.Cut(line, []byte("{"))
		if wanted(string(name)) {
			kept.Write(line)
			kept.WriteByte('\n')
		}
	}
	return &kept, lines.Err()
}

func wanted(name string) bool {
	if name == uptime || name == listener {
		return true
	}
	for _, list := range [][]source{arrivals, inFlight, through, underway} {
		for _, s := range list {
			if s.metric == name {
				return true
			}
		}
	}
	return false
}
