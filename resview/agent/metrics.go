// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	services prometheus.Gauge
	targets  prometheus.Gauge
	problems prometheus.Gauge
	synced   prometheus.Gauge
}

func newMetrics() *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return &metrics{
		services: gauge("weir_agent_global_services", "Services of this member that are annotated as global."),
		targets:  gauge("weir_agent_proof_targets", "Services that the hub asks this member to prove."),
		problems: gauge("weir_agent_annotation_problems", "Annotations of this member that say nothing weir knows."),
		synced:   gauge("weir_agent_inventory_synced", "1 once every kind that the member serves has been listed, else 0."),
	}
}

func (m *metrics) register(to prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.services, m.targets, m.problems, m.synced} {
		if err := to.Register(c); err != nil {
			return err
		}
	}
	return nil
}
