// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// probeTimeout is how long an API server that works may take for one small answer.
const probeTimeout = 3 * time.Second

// probed is an object that weir may read in every member, and that need not be there.
var probed = Ref{
	Resource:  schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "destinationrules"},
	Namespace: "kube-system", Name: "weir-probe",
}

// Probe asks the member's API server for anything at all. Every answer counts, a refusal too; an error says that there
// was none. It is for telling a member that is off from one of which only the agent is silent.
func (m *Member) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := m.resource(probed).Get(ctx, probed.Name, metav1.GetOptions{})
	m.note(err)
	if silent(err) {
		return fmt.Errorf("cluster %q: %w: %w", m.name, ErrNotConnected, err)
	}
	return nil
}
