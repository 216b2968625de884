// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// authority makes a CA certificate in PEM.
func authority(tb testing.TB) []byte {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestCABundleIsTakenOnlyAsCertificates(t *testing.T) {
	ca := authority(t)
	key := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("secret")})
	headed := bytes.Replace(ca, []byte("CERTIFICATE-----\n"), []byte("CERTIFICATE-----\nFrom: here\n\n"), 1)
	torn := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("torn")})
	for name, test := range map[string]struct {
		bundle []byte
		want   string // part of the error; empty: it is taken
	}{
		"one certificate":        {ca, ""},
		"two certificates":       {append(bytes.Clone(ca), authority(t)...), ""},
		"space around":           {append([]byte("\n\n"), append(bytes.Clone(ca), "\n \n"...)...), ""},
		"nothing":                {nil, "certificate-authority-data"},
		"blanks":                 {[]byte(" \n"), "certificate-authority-data"},
		"text":                   {[]byte("hello"), "between BEGIN CERTIFICATE and END CERTIFICATE"},
		"base64 in base64":       {[]byte("LS0tLS1CRUdJTg=="), "between BEGIN CERTIFICATE and END CERTIFICATE"},
		"a key":                  {key, "never put a key here"},
		"a key after a CA":       {append(bytes.Clone(ca), key...), "PEM block 2 is a EC PRIVATE KEY"},
		"a torn certificate":     {torn, "export it again from the member"},
		"a headed certificate":   {headed, "carries PEM headers"},
		"rubbish after a CA":     {append(bytes.Clone(ca), "hello"...), "no PEM block at number 2"},
		"a CA that is cut short": {ca[:len(ca)/2], "between BEGIN CERTIFICATE and END CERTIFICATE"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ValidateCABundle(test.bundle)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("want an error that says %q, got %v", test.want, err)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

// FuzzValidateCABundle: what is taken makes a pool of CAs; nothing makes it panic.
func FuzzValidateCABundle(f *testing.F) {
	f.Add(authority(f))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN X-----\nA: b\n\n-----END X-----"))
	f.Fuzz(func(t *testing.T, bundle []byte) {
		if ValidateCABundle(bundle) == nil && !x509.NewCertPool().AppendCertsFromPEM(bundle) {
			t.Errorf("taken, but no certificate is in it: %q", bundle)
		}
	})
}

func TestRegistrationNamesWhatIsNotServed(t *testing.T) {
	for name, test := range map[string]struct {
		spec ClusterSpec
		want []string
	}{
		"silent": {ClusterSpec{}, nil},
		"all defaults": {ClusterSpec{
			SyncMode: SyncPush, EdgeAutonomy: EdgeAutonomyDisabled, SuspectAfter: 3,
			DeadAfter: &metav1.Duration{Duration: DefaultDeadAfter},
		}, nil},
		"own rhythm": {ClusterSpec{HeartbeatInterval: &metav1.Duration{Duration: time.Second}, SuspectAfter: 9, DeadAfter: &metav1.Duration{Duration: time.Minute}}, nil},
		"everything": {ClusterSpec{
			Taints:       []ClusterTaint{{Key: "a", Effect: TaintNoSchedule}},
			SyncMode:     SyncPull,
			EdgeAutonomy: EdgeAutonomyEnabled,
			Price:        &ClusterPrice{CPUPerHour: "1"},
		}, []string{
			"spec.syncMode: Pull", "spec.edgeAutonomy: Enabled", "spec.price: set",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.spec.Unserved()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestIstioKnowsAClusterByItsOwnNameUnlessTold(t *testing.T) {
	c := Cluster{ObjectMeta: metav1.ObjectMeta{Name: "north-1"}}
	if got := c.IstioID(); got != "north-1" {
		t.Errorf("got %q", got)
	}
	c.Spec.IstioClusterID = "Kubernetes"
	if got := c.IstioID(); got != "Kubernetes" {
		t.Errorf("got %q", got)
	}
}

func TestHeartbeatOfTheSpecIsUsed(t *testing.T) {
	spec := ClusterSpec{HeartbeatInterval: &metav1.Duration{Duration: 30 * time.Second}, SuspectAfter: 6}
	if interval, suspect := spec.Heartbeat(); interval != 30*time.Second || suspect != 6 {
		t.Errorf("got %s and %d", interval, suspect)
	}
}
