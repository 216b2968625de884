// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-io/weir/resview/pb"
)

func csrOf(t *testing.T) []byte {
	t.Helper()
	keyText, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	csr, err := requestFor(keyText)
	if err != nil {
		t.Fatal(err)
	}
	return csr
}

func TestTokenThatDoesNotHoldIsRefused(t *testing.T) {
	tests := map[string]struct {
		token func(*hub) string
		code  codes.Code
		says  string
	}{
		"empty":         {func(*hub) string { return "" }, codes.PermissionDenied, "unknown, expired or wrong"},
		"malformed":     {func(*hub) string { return "abc" }, codes.PermissionDenied, "unknown, expired or wrong"},
		"unknown":       {func(*hub) string { return "aaaaaaaa.bbbb" }, codes.PermissionDenied, "unknown, expired or wrong"},
		"odd ID":        {func(*hub) string { return "../../x.bbbb" }, codes.PermissionDenied, "unknown, expired or wrong"},
		"huge":          {func(*hub) string { return "a." + strings.Repeat("b", 1<<20) }, codes.PermissionDenied, "unknown, expired or wrong"},
		"wrong secret":  {func(h *hub) string { return h.token("c1", time.Hour) + "x" }, codes.PermissionDenied, "unknown, expired or wrong"},
		"expired":       {func(h *hub) string { return h.token("c1", 0) }, codes.PermissionDenied, "unknown, expired or wrong"},
		"other cluster": {func(h *hub) string { return h.token("c9", time.Hour) }, codes.FailedPrecondition, `cluster "c9" is not registered`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				client := pb.NewRegistrationClient(h.connect(nil))
				got, err := client.Join(t.Context(), &pb.JoinRequest{Token: test.token(h), Csr: csrOf(t)})
				if status.Code(err) != test.code || !strings.Contains(status.Convert(err).Message(), test.says) {
					t.Errorf("join gave %v and error %v, want %s and %q", got, err, test.code, test.says)
				}
				if len(h.tokens.burnt) != 0 {
					t.Error("a refused join burnt a token")
				}
			})
		})
	}
}

func TestTokenWorksForOneKeyOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		client := pb.NewRegistrationClient(h.connect(nil))
		token, csr := h.token("c1", time.Hour), csrOf(t)
		for range 2 { // The second stands for an agent that did not get the first answer.
			if _, err := client.Join(t.Context(), &pb.JoinRequest{Token: token, Csr: csr}); err != nil {
				t.Fatalf("join: %v", err)
			}
		}
		_, err := client.Join(t.Context(), &pb.JoinRequest{Token: token, Csr: csrOf(t)})
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "was used already") {
			t.Errorf("join of another key with a used token: %v, want it refused with the way out", err)
		}
	})
}

func TestCertificateIsForTheTokensClusterWhateverTheRequestSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.CertificateRequest{DNSNames: []string{"hub"}, URIs: append(clusterURIs("c2"), hubURI())}
		csr, err := x509.CreateCertificateRequest(rand.Reader, template, private)
		if err != nil {
			t.Fatal(err)
		}
		client := pb.NewRegistrationClient(h.connect(nil))
		got, err := client.Join(t.Context(), &pb.JoinRequest{Token: h.token("c1", time.Hour), Csr: csr})
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(got.GetCertificate())
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := clusterOf(leaf)
		if err != nil || cluster != "c1" || got.GetCluster() != "c1" || len(leaf.DNSNames) != 0 || leaf.IsCA {
			t.Errorf("certificate is for %q (%v), DNS names %q, CA %t; want c1 alone", cluster, err, leaf.DNSNames, leaf.IsCA)
		}
	})
}

func TestBadSigningRequestIsRefusedAndCostsNoToken(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	otherKind, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, edwards)
	if err != nil {
		t.Fatal(err)
	}
	broken := csrOf(t)
	broken[len(broken)-1] ^= 1
	for name, csr := range map[string][]byte{
		"empty": nil, "no request": []byte("hello"), "huge": make([]byte, 1<<20), "other kind of key": otherKind, "broken signature": broken,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				client := pb.NewRegistrationClient(h.connect(nil))
				if _, err := client.Join(t.Context(), &pb.JoinRequest{Token: h.token("c1", time.Hour), Csr: csr}); status.Code(err) != codes.InvalidArgument {
					t.Errorf("join: %v, want InvalidArgument", err)
				}
				if len(h.tokens.burnt) != 0 {
					t.Error("the token was burnt")
				}
			})
		})
	}
}

func TestGuessingTokensIsSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		client := pb.NewRegistrationClient(h.connect(nil))
		limited := 0
		for range 100 {
			_, err := client.Join(t.Context(), &pb.JoinRequest{Token: "aaaaaaaa.b", Csr: csrOf(t)})
			if status.Code(err) == codes.ResourceExhausted {
				limited++
			}
		}
		if limited < 80 {
			t.Errorf("%d of 100 attempts at once were turned away, want 80 at least", limited)
		}
		wait(time.Minute)
		if _, err := client.Join(t.Context(), &pb.JoinRequest{Token: h.token("c1", time.Hour), Csr: csrOf(t)}); err != nil {
			t.Errorf("join a minute later: %v", err)
		}
	})
}

func TestTokenStoreThatFailsIsNoVerdictOnTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		token := h.token("c1", time.Hour)
		h.tokens.fail = errors.New("etcd at 10.0.0.1 is away")
		client := pb.NewRegistrationClient(h.connect(nil))
		_, err := client.Join(t.Context(), &pb.JoinRequest{Token: token, Csr: csrOf(t)})
		if status.Code(err) != codes.Unavailable || strings.Contains(err.Error(), "10.0.0.1") {
			t.Errorf("join: %v, want Unavailable without a word about the store", err)
		}
	})
}

func TestAgentWithAWrongTokenSaysTheWayOut(t *testing.T) {
	tests := map[string]struct {
		token func(*hub) string
		says  string
	}{
		"none":            {func(*hub) string { return "" }, "neither a certificate nor a join token"},
		"expired":         {func(h *hub) string { return h.token("c1", 0) }, "kubectl weir join"},
		"of another name": {func(h *hub) string { return h.token("c2", time.Hour) }, `the token is for cluster "c2", this agent is set up as "c1"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				vault := &memoryVault{}
				a := h.runAgent(h.config("c1", test.token(h), vault), vault)
				wait(time.Second)
				if s := a.Status(); s.Connected || !strings.Contains(s.Reason, test.says) {
					t.Errorf("status is %+v, want %q", s, test.says)
				}
				if vault.kept().Certificate != "" {
					t.Error("the agent kept a certificate")
				}
			})
		})
	}
}

func TestHubUnderAnotherAuthorityIsNotTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		stranger, err := NewAuthority(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		vault := &memoryVault{}
		config := h.config("c1", h.token("c1", time.Hour), vault)
		config.HubCA = func() ([]byte, error) { return stranger.Bundle(), nil }
		a := h.runAgent(config, vault)
		wait(time.Second)
		if s := a.Status(); s.Connected || !strings.Contains(s.Reason, "not signed by the CA this agent was given") {
			t.Errorf("status is %+v, want the hub not trusted", s)
		}
		if len(h.tokens.burnt) != 0 {
			t.Error("the token went to a hub that is not trusted")
		}
	})
}

func TestNewTokenMakesAnAgentJoinAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		wait(time.Second)
		a.halt()
		first := a.vault.kept()

		// A token that does not hold must not cost the certificate at hand.
		b := h.runAgent(h.config("c1", h.token("c1", 0), a.vault), a.vault)
		wait(time.Second)
		if s := b.Status(); !s.Connected {
			t.Fatalf("status with a bad new token is %+v, want connected by the certificate at hand", s)
		}
		b.halt()

		c := h.runAgent(h.config("c1", h.token("c1", time.Hour), a.vault), a.vault)
		wait(time.Second)
		if s := c.Status(); !s.Connected || a.vault.kept().Certificate == first.Certificate || a.vault.kept().PendingKey != "" {
			t.Errorf("status with a good new token is %+v, want connected by a new certificate", s)
		}
	})
}
