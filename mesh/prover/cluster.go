// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"context"

	"github.com/weir-io/weir/mesh/prover/census"
)

// Cluster tells the prover what runs in the member. The agent implements it
// from its informers. It must be safe for use from several goroutines, and its
// answers must not be changed after they were handed out.
type Cluster interface {
	// Snapshot returns what is known now. An error means that nothing is known,
	// which blocks every proof; it must not return an empty snapshot instead.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is the member as its API server shows it.
type Snapshot struct {
	// Istiods are all istiod pods that serve the member's proxies, those that
	// are not ready among them, since proxies may still be connected to those.
	Istiods []IstiodPod
	// Pods are all pods with a proxy of the mesh, and the pods that any
	// target's selector chooses.
	Pods []census.Pod
	// Scopes holds for a namespace a value that changes whenever an object
	// does that narrows what its proxies see (Sidecar objects of the namespace
	// or of the root namespace). A namespace without any may be left out.
	Scopes map[string]string
}

// IstiodPod is one replica of an istiod.
type IstiodPod struct {
	Name string
	// UID is the pod's UID.
	UID string
	// Process changes whenever the discovery container restarts, for example
	// its container ID. It may be empty; the canary notices a restart besides.
	Process string
	// XDS is host:port of secure ADS, as a rule the pod's address and 15012.
	XDS string
	// Debug is host:port of the debug endpoints, as a rule port 15014.
	Debug string
}

// Credentials give what istiod wants to see.
type Credentials interface {
	// Token returns a bearer token with the audience istio-ca of a
	// ServiceAccount in Istio's system namespace.
	Token(ctx context.Context) (string, error)
	// RootCA returns the mesh's root certificates as PEM, from the ConfigMap
	// istio-ca-root-cert.
	RootCA(ctx context.Context) ([]byte, error)
}
