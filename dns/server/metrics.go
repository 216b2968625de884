// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strings"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-io/weir/dns/zone"
)

// outside is the label of questions about no zone of the table.
const outside = "none"

type metrics struct {
	queries   *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	clusters  *prometheus.CounterVec
	dropped   prometheus.Counter
	truncated prometheus.Counter
	conns     prometheus.Gauge
	refused   *prometheus.CounterVec
	serial    prometheus.Gauge
	swapped   prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		queries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_dns_queries_total",
			Help: "Questions answered, by zone (none: outside all zones) and response code.",
		}, []string{"zone", "rcode"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "weir_dns_query_duration_seconds",
			Help:    "Time from a question read to its answer written, by transport.",
			Buckets: []float64{5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 0.1, 1},
		}, []string{"transport"}),
		clusters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_dns_answers_total",
			Help: "Answers that named a cluster, by cluster: the split that was given.",
		}, []string{"cluster"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_dns_dropped_messages_total",
			Help: "Messages that were no question: dropped, or answered with an error.",
		}),
		truncated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_dns_truncated_answers_total",
			Help: "Answers over UDP that were too long, so that the client had to ask over TCP.",
		}),
		conns: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_dns_tcp_connections",
			Help: "TCP connections open.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_dns_refused_connections_total",
			Help: "TCP connections closed at once, by limit: all or client.",
		}, []string{"limit"}),
		serial: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_dns_table_serial",
			Help: "Serial of the table in force; 0: none yet.",
		}),
		swapped: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_dns_table_applied_timestamp_seconds",
			Help: "When the table in force was applied; 0: none yet.",
		}),
	}
}

func (m *metrics) register(to prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.queries, m.duration, m.clusters, m.dropped, m.truncated, m.conns, m.refused, m.serial, m.swapped} {
		if err := to.Register(c); err != nil {
			return fmt.Errorf("register metrics of the DNS server: %w", err)
		}
	}
	return nil
}

// counters are those of one table, found once: no label is looked up for a question.
type counters struct {
	queries  []map[int]prometheus.Counter // by zone, the last one for outside
	clusters []prometheus.Counter         // by target
}

// codes that an answer can have.
var codes = []int{dns.RcodeSuccess, dns.RcodeFormatError, dns.RcodeServerFailure, dns.RcodeNameError, dns.RcodeNotImplemented, dns.RcodeRefused, dns.RcodeBadVers}

func (m *metrics) of(table *zone.Table) *counters {
	c := &counters{}
	labels := make([]string, 0, len(table.Zones())+1)
	for _, z := range table.Zones() {
		labels = append(labels, strings.TrimSuffix(z.Origin, "."))
	}
	for _, label := range append(labels, outside) {
		byCode := make(map[int]prometheus.Counter, len(codes))
		for _, code := range codes {
			byCode[code] = m.queries.WithLabelValues(label, codeName(code))
		}
		c.queries = append(c.queries, byCode)
	}
	for _, t := range table.Targets() {
		c.clusters = append(c.clusters, m.clusters.WithLabelValues(t.Cluster))
	}
	return c
}

// codeName is the name of a code; 16 is that of two, and means the version here.
func codeName(code int) string {
	if code == dns.RcodeBadVers {
		return "BADVERS"
	}
	return dns.RcodeToString[code]
}

// count counts one answer. What it named is counted only where it was sent.
func (c *counters) count(rcode int, a zone.Answer, whole bool) {
	place := len(c.queries) - 1
	if a.Zone != nil {
		place = a.Zone.Index
	}
	c.queries[place][rcode].Inc()
	if a.Target >= 0 && whole {
		c.clusters[a.Target].Inc()
	}
}
