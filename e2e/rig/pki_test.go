// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

func TestAServersCertificateIsGoodForItsAddressesUnderItsAuthorityOnly(t *testing.T) {
	ca, err := newAuthority("one", nil)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := newAuthority("two", nil)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := ca.server("api", "10.201.0.1", "kubernetes.default.svc")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by   *authority
		host string
		good bool
	}{
		"its address":       {ca, "10.201.0.1", true},
		"its name":          {ca, "kubernetes.default.svc", true},
		"another address":   {ca, "10.202.0.1", false},
		"another authority": {stranger, "10.201.0.1", false},
	} {
		roots := x509.NewCertPool()
		roots.AddCert(c.by.cert)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: c.host}); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEachMemberSignsBelowTheCommonRoot(t *testing.T) {
	root, err := newAuthority("root", nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	for _, name := range []string{"c1", "c2"} {
		mid, err := newAuthority(name, root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mid.cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
