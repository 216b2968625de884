// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"crypto/x509"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-io/weir/resview/pb"
)

// A cluster is deleted and registered anew, under the same name, as when its identity was stolen or it was built anew.
func TestACertificateEndsWithTheRegistrationThatItWasMadeFor(t *testing.T) {
	for name, forget := range map[string]bool{"deleted and seen to be": true, "made anew at once": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				admit := func(registration string) {
					if err := h.Admit("c1", Settings{BeatInterval: 10 * time.Minute, Registration: registration}); err != nil {
						t.Fatal(err)
					}
				}
				admit("first")
				a := h.startAgent("c1")
				wait(20 * time.Hour)
				if !h.Snapshot("c1").Connected || a.vault.kept().Certificate == "" {
					t.Fatalf("the agent has joined and renewed, and is not connected: %+v", h.Snapshot("c1"))
				}
				if forget {
					h.Forget("c1")
				}
				admit("second")
				wait(10 * time.Minute)
				if s := h.Snapshot("c1"); s.Connected || s.Hello != nil {
					t.Errorf("the agent of the first registration has a session in the second: %+v", s)
				}
				old := h.certificate(func(csr *x509.CertificateRequest) ([]byte, error) {
					return h.authority.issue("c1", "first", csr, time.Now())
				})
				_, err := pb.NewRegistrationClient(h.connect(old)).Renew(t.Context(), &pb.RenewRequest{Csr: csrOf(t)})
				if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "kubectl weir join") {
					t.Errorf("renewed with a certificate of the first: %v", err)
				}
				h.startAgent("c1") // with a token of its own
				wait(time.Minute)
				if !h.Snapshot("c1").Connected {
					t.Errorf("the agent of the second is kept out: %+v", h.Snapshot("c1"))
				}
			})
		})
	}
}
