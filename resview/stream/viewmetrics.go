// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import "github.com/prometheus/client_golang/prometheus"

// lagBuckets reach from what a good link does to what nobody may see: views are to follow within half a second, and never
// later than after two.
var lagBuckets = []float64{.01, .025, .05, .1, .2, .3, .5, .75, 1, 2, 5, 10, 60}

// What becomes of events at the hub, as a label.
const (
	eventApplied  = "applied"
	eventRepeated = "repeated" // it was applied before
	eventAwaiting = "awaiting" // it came while a snapshot was awaited, which will hold it
	eventRefused  = "refused"  // it broke a bound
)

// viewMetrics count what happens to the views of all members.
type viewMetrics struct {
	events    *prometheus.CounterVec
	snapshots prometheus.Counter
	wanted    *prometheus.CounterVec
	lag       prometheus.Histogram

	version, confirmed, nodes, inStep *prometheus.GaugeVec // by cluster
}

func newViewMetrics() *viewMetrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"cluster"})
	}
	return &viewMetrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_view_events_total",
			Help: "Events of nodes and pods received from agents, by outcome.",
		}, []string{"outcome"}),
		snapshots: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_view_snapshots_total",
			Help: "Full snapshots of members' nodes that became their views.",
		}),
		wanted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_view_snapshots_wanted_total",
			Help: "Full snapshots asked for, by reason.",
		}, []string{"reason"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "weir_view_event_lag_seconds",
			Help:    "Time from when an event was seen in its member until it was in the view, without its time on the network.",
			Buckets: lagBuckets,
		}),
		version: gauge("weir_view_version",
			"Number of the last event in a member's view. It starts again when the agent does."),
		confirmed: gauge("weir_view_confirmed_timestamp_seconds",
			"When the agent last said that a member's view is how things are, in seconds since the epoch."),
		nodes: gauge("weir_view_nodes", "Nodes in a member's view."),
		inStep: gauge("weir_view_in_step",
			"1 while a member's agent is connected and no event of its nodes is known to be missing, else 0."),
	}
}

// show says how one member's view stands. A member without a view has no version, time or nodes.
func (m *viewMetrics) show(v *MemberView) {
	inStep := 0.0
	if v.InStep {
		inStep = 1
	}
	m.inStep.WithLabelValues(v.Cluster).Set(inStep)
	if v.View == nil {
		return
	}
	nodes, _ := v.View.Nodes()
	m.version.WithLabelValues(v.Cluster).Set(float64(v.View.Version()))
	m.confirmed.WithLabelValues(v.Cluster).Set(float64(v.ConfirmedAt.UnixMilli()) / 1000)
	m.nodes.WithLabelValues(v.Cluster).Set(float64(nodes))
}

// forget shows a member no longer.
func (m *viewMetrics) forget(cluster string) {
	for _, g := range m.gauges() {
		g.DeleteLabelValues(cluster)
	}
}

func (m *viewMetrics) gauges() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{m.version, m.confirmed, m.nodes, m.inStep}
}

func (m *viewMetrics) register(to prometheus.Registerer) error {
	all := []prometheus.Collector{m.events, m.snapshots, m.wanted, m.lag}
	for _, g := range m.gauges() {
		all = append(all, g)
	}
	return registerAll(to, all...)
}
