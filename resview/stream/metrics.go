// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-io/weir/resview/pb"
)

type serverMetrics struct {
	connected prometheus.Gauge
	messages  *prometheus.CounterVec
	refusals  *prometheus.CounterVec
	joins     *prometheus.CounterVec
	view      *viewMetrics
}

func newServerMetrics() *serverMetrics {
	return &serverMetrics{
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_link_connected_members",
			Help: "Members whose agent has a session with this hub.",
		}),
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_link_received_messages_total",
			Help: "Valid messages received from agents, by kind.",
		}, []string{"kind"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_link_refusals_total",
			Help: "Sessions that the hub refused or ended, by code.",
		}, []string{"code"}),
		joins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_link_joins_total",
			Help: "Attempts to join, by outcome.",
		}, []string{"outcome"}),
		view: newViewMetrics(),
	}
}

func (m *serverMetrics) register(to prometheus.Registerer) error {
	if err := registerAll(to, m.connected, m.messages, m.refusals, m.joins); err != nil {
		return err
	}
	return m.view.register(to)
}

type clientMetrics struct {
	connected prometheus.Gauge
	sessions  prometheus.Counter
	sent      *prometheus.CounterVec
	waiting   prometheus.Gauge
	expires   prometheus.Gauge
	snapshots prometheus.Counter
	events    prometheus.Counter
}

func newClientMetrics() *clientMetrics {
	return &clientMetrics{
		connected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_agent_hub_connected",
			Help: "1 while the hub has welcomed this agent, else 0.",
		}),
		sessions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_agent_sessions_total",
			Help: "Sessions that the hub has welcomed.",
		}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_agent_sent_messages_total",
			Help: "Messages sent to the hub, by kind.",
		}, []string{"kind"}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_agent_waiting_messages",
			Help: "Facts that the hub does not have yet.",
		}),
		expires: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_agent_certificate_expiry_timestamp_seconds",
			Help: "End of the certificate in use, in seconds since the epoch. 0: there is none.",
		}),
		snapshots: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_agent_view_snapshots_total",
			Help: "Full snapshots of the member's nodes sent to the hub.",
		}),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_agent_view_events_total",
			Help: "Events of nodes and pods sent to the hub; those that were sent again are counted again.",
		}),
	}
}

func (m *clientMetrics) register(to prometheus.Registerer) error {
	return registerAll(to, m.connected, m.sessions, m.sent, m.waiting, m.expires, m.snapshots, m.events)
}

func registerAll(to prometheus.Registerer, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := to.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// bodyName is the kind of a message as a label: one of a closed list.
func bodyName(message *pb.AgentMessage) string {
	switch message.GetBody().(type) {
	case *pb.AgentMessage_Hello:
		return "hello"
	case *pb.AgentMessage_Beat:
		return "beat"
	case *pb.AgentMessage_Member:
		return "member"
	case *pb.AgentMessage_Service:
		return "service"
	case *pb.AgentMessage_Gone:
		return "gone"
	case *pb.AgentMessage_Proof:
		return "proof"
	case *pb.AgentMessage_InventoryEnd:
		return "inventoryEnd"
	case *pb.AgentMessage_Snapshot:
		return "snapshot"
	case *pb.AgentMessage_Update:
		return "update"
	case *pb.AgentMessage_Served:
		return "served"
	default:
		return "none"
	}
}
