// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-io/weir/resview/view"
)

type metrics struct {
	events  *prometheus.CounterVec
	unacked prometheus.Gauge
	acked   prometheus.Histogram
	synced  prometheus.Gauge
}

var kindNames = map[view.Kind]string{
	view.NodeAdded: "nodeAdded", view.NodeUpdated: "nodeUpdated", view.NodeDeleted: "nodeDeleted",
	view.PodAssigned: "podAssigned", view.PodDeleted: "podDeleted",
}

func newMetrics() *metrics {
	return &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_agent_recorded_events_total",
			Help: "Events of nodes and pods seen in the member, by kind.",
		}, []string{"kind"}),
		unacked: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_agent_unacknowledged_events",
			Help: "Events of nodes and pods that are kept because the hub has not acknowledged them.",
		}),
		acked: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "weir_agent_event_acknowledge_seconds",
			Help:    "Time from when an event was seen until the hub's acknowledgement of it was.",
			Buckets: []float64{.01, .025, .05, .1, .2, .3, .5, .75, 1, 2, 5, 10, 60},
		}),
		synced: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_agent_nodes_synced",
			Help: "1 once nodes and pods have been listed, else 0.",
		}),
	}
}

func (m *metrics) register(to prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.events, m.unacked, m.acked, m.synced} {
		if err := to.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *metrics) recorded(kind view.Kind) { m.events.WithLabelValues(kindNames[kind]).Inc() }
