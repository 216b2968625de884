// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package census

import (
	"net/netip"
	"time"
)

// Kind tells what proxy a pod runs. The list is closed.
type Kind string

const (
	// KindNone is a pod without a proxy of the mesh.
	KindNone Kind = "None"
	// KindSidecar is an application's pod with a sidecar, native or not.
	KindSidecar Kind = "Sidecar"
	// KindGateway is a pod that runs a gateway's proxy.
	KindGateway Kind = "Gateway"
)

// Phase is where in its life a pod is, as far as its proxy is concerned.
type Phase string

const (
	// PhaseStarting is a pod that is bound to a node and whose proxy is not
	// ready yet.
	PhaseStarting Phase = "Starting"
	// PhaseRunning is a pod whose proxy runs.
	PhaseRunning Phase = "Running"
	// PhaseTerminating is a pod with a deletion time whose containers may
	// still run, and send.
	PhaseTerminating Phase = "Terminating"
	// PhaseDone is a pod whose containers have all ended.
	PhaseDone Phase = "Done"
)

// Pod is a pod of the member.
type Pod struct {
	Namespace string
	Name      string
	UID       string
	// IP is the pod's address; invalid while it has none.
	IP     netip.Addr
	Labels map[string]string
	Kind   Kind
	Phase  Phase
	// ProxyRestarts counts the restarts of the proxy's container.
	ProxyRestarts int32
	// Created is the pod's creation time.
	Created time.Time
}

// Proxy returns the name under which istiod lists the pod's proxy.
func (p Pod) Proxy() string { return p.Name + "." + p.Namespace }

// Reason tells why a proxy is missing.
type Reason string

const (
	// ReasonStarting is a proxy that has not connected yet.
	ReasonStarting Reason = "Starting"
	// ReasonDisconnected is a proxy that runs and is connected to no istiod.
	ReasonDisconnected Reason = "Disconnected"
)

// Missing is a proxy that should be connected and is not.
type Missing struct {
	// Proxy is pod.namespace.
	Proxy  string
	Kind   Kind
	Reason Reason
}
