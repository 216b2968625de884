// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// What a Cluster says of its liveness where it does not say otherwise.
const (
	DefaultHeartbeatInterval = 10 * time.Second
	DefaultSuspectAfter      = 3
	DefaultDeadAfter         = 30 * time.Second
)

// IstioID is the ID under which Istio knows the member: spec.istioClusterID, or the name of the Cluster.
func (c *Cluster) IstioID() string {
	if c.Spec.IstioClusterID != "" {
		return c.Spec.IstioClusterID
	}
	return c.Name
}

// Heartbeat is how often the agent sends a beat, and how many in a row may be missed before the member is Suspect,
// with the defaults where the spec is silent.
func (s *ClusterSpec) Heartbeat() (interval time.Duration, suspectAfter int32) {
	interval, suspectAfter = DefaultHeartbeatInterval, DefaultSuspectAfter
	if s.HeartbeatInterval != nil && s.HeartbeatInterval.Duration > 0 {
		interval = s.HeartbeatInterval.Duration
	}
	if s.SuspectAfter > 0 {
		suspectAfter = s.SuspectAfter
	}
	return interval, suspectAfter
}

// DeathAfter is how long a Suspect member may fail every probe before it is Dead, with the default where the spec is
// silent.
func (s *ClusterSpec) DeathAfter() time.Duration {
	if s.DeadAfter != nil && s.DeadAfter.Duration > 0 {
		return s.DeadAfter.Duration
	}
	return DefaultDeadAfter
}

// Unserved names the fields of a registration that this build accepts but does not serve, each as path and value, in
// the order of the spec; none: it is served whole. A Cluster with any is answered by Ready=False, reason NotSupported,
// and nothing is written to the member. Fields that are not set are served.
func (s *ClusterSpec) Unserved() []string {
	var out []string
	if s.SyncMode != "" && s.SyncMode != SyncPush {
		out = append(out, fmt.Sprintf("spec.syncMode: %s", s.SyncMode))
	}
	if s.EdgeAutonomy != "" && s.EdgeAutonomy != EdgeAutonomyDisabled {
		out = append(out, fmt.Sprintf("spec.edgeAutonomy: %s", s.EdgeAutonomy))
	}
	if s.Price != nil {
		out = append(out, "spec.price: set")
	}
	return out
}

// ValidateCABundle says what is wrong with a CA bundle: it must be PEM and hold certificates only, at least one, each
// of which parses. The errors tell the way out. Expiry is not looked at: an API server's handshake says that better.
func ValidateCABundle(bundle []byte) error {
	rest := bytes.TrimSpace(bundle)
	if len(rest) == 0 {
		return errors.New("spec.caBundle is empty: set it to the base64 of the member's CA certificate in PEM, as in certificate-authority-data of its kubeconfig")
	}
	for n := 1; len(rest) > 0; n++ {
		block, tail := pem.Decode(rest)
		if block == nil {
			return fmt.Errorf("spec.caBundle: no PEM block at number %d: set it to the base64 of certificates in PEM, each between BEGIN CERTIFICATE and END CERTIFICATE", n)
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("spec.caBundle: PEM block %d is a %s: leave only CERTIFICATE blocks, and never put a key here", n, block.Type)
		}
		if len(block.Headers) > 0 {
			return fmt.Errorf("spec.caBundle: certificate %d carries PEM headers, with which it would be passed over: remove the lines between BEGIN CERTIFICATE and the base64", n)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("spec.caBundle: certificate %d does not parse; export it again from the member: %w", n, err)
		}
		rest = bytes.TrimSpace(tail)
	}
	return nil
}
