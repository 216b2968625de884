// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"
)

const (
	trustDomain   = "weir"
	clusterPrefix = "/cluster/"
	hubPath       = "/hub"
)

// clusterURI is the SPIFFE ID under which the agent of a member is known.
func clusterURI(cluster string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: trustDomain, Path: clusterPrefix + cluster}
}

// hubURI is the SPIFFE ID of the hub. Agents check it instead of a host name, so that the hub may be reached under any
// address, and so that no member's certificate can stand in for the hub's.
func hubURI() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: trustDomain, Path: hubPath}
}

// clusterOf returns the member that a certificate speaks for. The certificate must have exactly one URI: with two,
// which of them counts would be a matter of reading order.
func clusterOf(leaf *x509.Certificate) (string, error) {
	if len(leaf.URIs) != 1 {
		return "", fmt.Errorf("certificate has %d URI names, want one", len(leaf.URIs))
	}
	uri := leaf.URIs[0]
	name, ok := strings.CutPrefix(uri.Path, clusterPrefix)
	if !ok || uri.Scheme != "spiffe" || uri.Host != trustDomain || uri.RawQuery != "" || uri.Fragment != "" || uri.User != nil {
		return "", fmt.Errorf("certificate is for %q, want %s", clip(uri.String()), clusterURI("NAME"))
	}
	if err := checkName("cluster", name); err != nil {
		return "", err
	}
	return name, nil
}

// isHub reports whether a certificate is the hub's.
func isHub(leaf *x509.Certificate) bool {
	return len(leaf.URIs) == 1 && leaf.URIs[0].String() == hubURI().String()
}
