// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-io/weir/controllers/member"
)

// Metrics of what is written to members. A nil one keeps none.
type Metrics struct {
	writes *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(to prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{writes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "weir_sync_writes_total", Help: "Writes of copies of federated objects in members, and of the limits of autoscalers on them. A copy that stands as it shall gets none.",
	}, []string{"kind", "verb", "outcome"})}
	if err := to.Register(m.writes); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Metrics) count(of copied, verb string, err error) {
	if m != nil {
		m.writes.WithLabelValues(of.kind, verb, outcomeOf(err)).Inc()
	}
}

// outcomeOf is what came of a write, in one word.
func outcomeOf(err error) string {
	_, foreign := errors.AsType[*member.ForeignError](err)
	switch {
	case err == nil:
		return "done"
	case foreign:
		return "foreign"
	case apierrors.IsConflict(err):
		return "conflict"
	case blind(err):
		return "unanswered"
	}
	return "refused"
}
