// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package syncz

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weir-io/weir/mesh/prover/push"
)

const (
	typeRoutes    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	typeEndpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	typeClusters  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	typeListeners = "type.googleapis.com/envoy.config.listener.v3.Listener"
)

// ErrTooMany means that a replica lists more proxies than the bound allows.
var ErrTooMany = errors.New("more proxies than the bound")

// Connection is one connected proxy as one replica lists it. A proxy that is
// changing from one replica to another, or that came back before its old
// stream was noticed to be dead, is listed more than once.
type Connection struct {
	// Proxy is pod.namespace.
	Proxy string
	// Type is istiod's word for the kind of node: sidecar, router, waypoint,
	// ztunnel, or empty in versions that do not tell.
	Type string
	// Cluster is the Istio cluster ID that the proxy gave.
	Cluster string
	// Version is the proxy's Istio version.
	Version                              string
	Routes, Endpoints, Clusters, Listens Status
}

// Status is how far one type of resource has come on one connection.
type Status struct {
	Sent, Acked push.Nonce
	// SentAt is when istiod finished sending, by its own clock; zero if the
	// version does not tell.
	SentAt time.Time
	// LastError is why the proxy refused the last answer. The next answer that
	// it accepts clears it.
	LastError string
	// Unreadable means that a nonce is not of a known shape, so that nothing
	// may be concluded from it.
	Unreadable bool
}

// Watched tells whether the connection ever got this type of resource.
func (s Status) Watched() bool { return !s.Sent.IsZero() || s.Unreadable }

// entry is the wire form. The flat fields are in every version; resources came
// with 1.2x and adds times and errors.
type entry struct {
	Cluster       string            `json:"cluster_id"`
	Proxy         string            `json:"proxy"`
	Type          string            `json:"proxy_type"`
	Version       string            `json:"istio_version"`
	ClusterSent   string            `json:"cluster_sent"`
	ClusterAcked  string            `json:"cluster_acked"`
	ListenerSent  string            `json:"listener_sent"`
	ListenerAcked string            `json:"listener_acked"`
	RouteSent     string            `json:"route_sent"`
	RouteAcked    string            `json:"route_acked"`
	EndpointSent  string            `json:"endpoint_sent"`
	EndpointAcked string            `json:"endpoint_acked"`
	Resources     map[string]detail `json:"resources"`
}

type detail struct {
	Sent      string    `json:"sent"`
	Acked     string    `json:"acked"`
	SentTime  time.Time `json:"sentTime"`
	LastError string    `json:"lastError"`
}

// Decode reads the answer of /debug/syncz, entry by entry, and stops with
// ErrTooMany after most of them.
func Decode(r io.Reader, most int) ([]Connection, error) {
	dec := json.NewDecoder(r)
	start, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read syncz: %w", err)
	}
	if start == nil {
		return nil, nil
	}
	if start != json.Delim('[') {
		return nil, fmt.Errorf("read syncz: starts with %v, not with a list", start)
	}
	var out []Connection
	for dec.More() {
		if len(out) == most {
			return nil, fmt.Errorf("read syncz: %w of %d", ErrTooMany, most)
		}
		var e entry
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("read syncz: entry %d: %w", len(out), err)
		}
		out = append(out, e.connection())
	}
	// Without its end a list may be cut short, and what it lacks would look
	// like proxies that are not connected.
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read syncz: list has no end: %w", err)
	}
	return out, nil
}

func (e entry) connection() Connection {
	return Connection{
		Proxy:     e.Proxy,
		Type:      e.Type,
		Cluster:   e.Cluster,
		Version:   e.Version,
		Routes:    e.status(typeRoutes, e.RouteSent, e.RouteAcked),
		Endpoints: e.status(typeEndpoints, e.EndpointSent, e.EndpointAcked),
		Clusters:  e.status(typeClusters, e.ClusterSent, e.ClusterAcked),
		Listens:   e.status(typeListeners, e.ListenerSent, e.ListenerAcked),
	}
}

// status prefers the resources map, whose values were copied together; the
// flat fields are read one after the other and may straddle an answer.
func (e entry) status(typeURL, sent, acked string) Status {
	var s Status
	if d, ok := e.Resources[typeURL]; ok {
		sent, acked = d.Sent, d.Acked
		s.SentAt, s.LastError = d.SentTime, d.LastError
	}
	var errSent, errAcked error
	s.Sent, errSent = push.ParseNonce(sent)
	s.Acked, errAcked = push.ParseNonce(acked)
	s.Unreadable = errSent != nil || errAcked != nil
	return s
}
