// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of the scheduler. A nil one keeps none.
type Metrics struct {
	decisions *prometheus.CounterVec
	unplaced  prometheus.Gauge
	passes    prometheus.Histogram
}

// NewMetrics registers the scheduler's metrics.
func NewMetrics(to prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_schedule_decisions_total", Help: "Divisions decided, by what made weir decide, whether or not they changed anything.",
		}, []string{"trigger"}),
		unplaced: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_schedule_unplaced_replicas", Help: "Replicas that fit nowhere, over all federated workloads.",
		}),
		passes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "weir_schedule_pass_duration_seconds", Help: "How long one pass over all federated workloads took, its writes included.",
			Buckets: []float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10},
		}),
	}
	for _, c := range []prometheus.Collector{m.decisions, m.unplaced, m.passes} {
		if err := to.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) pass(in *input, due []answer, took time.Duration) {
	if m == nil {
		return
	}
	unplaced := map[*entry]int64{}
	for _, e := range in.entries {
		unplaced[e] = int64(e.binding.Status.Unplaced)
	}
	for i := range due {
		a := &due[i]
		m.decisions.WithLabelValues(string(a.why.trigger)).Inc()
		unplaced[a.entry] = a.decision.Unplaced
	}
	var sum int64
	for _, n := range unplaced {
		sum += n
	}
	m.unplaced.Set(float64(sum))
	m.passes.Observe(took.Seconds())
}
