// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-io/weir/resview/pb"
)

func clusterURIs(names ...string) []*url.URL {
	var out []*url.URL
	for _, n := range names {
		out = append(out, clusterURI(n))
	}
	return out
}

// forge signs what a request asks for with whatever a test wants in it.
func forge(by authorityPair, change func(*x509.Certificate)) func(*x509.CertificateRequest) ([]byte, error) {
	return func(csr *x509.CertificateRequest) ([]byte, error) {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1),
			NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			URIs: clusterURIs("c1"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		change(template)
		return x509.CreateCertificate(rand.Reader, template, by.certificate, csr.PublicKey.(*ecdsa.PublicKey), by.key)
	}
}

func TestOnlyACertificateOfTheHubForOneClusterOpensASession(t *testing.T) {
	parse := func(text string) []*url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return []*url.URL{u}
	}
	tests := map[string]struct {
		stranger bool
		change   func(*x509.Certificate)
		opens    bool
	}{
		"right":                   {change: func(*x509.Certificate) {}, opens: true},
		"signed by a stranger":    {stranger: true, change: func(*x509.Certificate) {}},
		"ended":                   {change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }},
		"not begun":               {change: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }},
		"for servers":             {change: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }},
		"no name":                 {change: func(c *x509.Certificate) { c.URIs = nil }},
		"two names":               {change: func(c *x509.Certificate) { c.URIs = clusterURIs("c1", "c2") }},
		"the hub's name":          {change: func(c *x509.Certificate) { c.URIs = []*url.URL{hubURI()} }},
		"a workload of the mesh":  {change: func(c *x509.Certificate) { c.URIs = parse("spiffe://cluster.local/ns/a/sa/b") }},
		"another scheme":          {change: func(c *x509.Certificate) { c.URIs = parse("https://weir/cluster/c1") }},
		"a query":                 {change: func(c *x509.Certificate) { c.URIs = parse("spiffe://weir/cluster/c1?x=1") }},
		"a path":                  {change: func(c *x509.Certificate) { c.URIs = parse("spiffe://weir/cluster/c1/c2") }},
		"a name in upper case":    {change: func(c *x509.Certificate) { c.URIs = parse("spiffe://weir/cluster/C1") }},
		"cluster not admitted":    {change: func(c *x509.Certificate) { c.URIs = clusterURIs("c9") }},
		"name in the common name": {change: func(c *x509.Certificate) { c.URIs = nil; c.Subject.CommonName = "c1" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				by := h.authority
				if test.stranger {
					var err error
					if by, err = NewAuthority(time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				conn := h.connect(h.certificate(forge(by.pairs[0], test.change)))
				stream, err := pb.NewMemberLinkClient(conn).Session(t.Context())
				if err == nil {
					_ = stream.Send(hello(1)) // What went wrong is told by Recv.
					var message *pb.HubMessage
					if message, err = stream.Recv(); err == nil && message.GetWelcome() == nil {
						err = errors.New("not welcomed")
					}
				}
				wait(time.Second)
				connected := h.Snapshot("c1").Connected || h.Snapshot("c2").Connected
				if test.opens != (err == nil) || test.opens != connected {
					t.Errorf("session: %v, connected: %t; want a session: %t", err, connected, test.opens)
				}
			})
		})
	}
}

func TestWithoutACertificateNothingWorksButJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		conn := h.connect(nil)
		if _, err := pb.NewRegistrationClient(conn).Renew(t.Context(), &pb.RenewRequest{Csr: csrOf(t)}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("renew: %v, want Unauthenticated", err)
		}
		stream, err := pb.NewMemberLinkClient(conn).Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("session: %v, want Unauthenticated", err)
		}
	})
}

func TestMemberCanNotStandInForTheHub(t *testing.T) {
	authority, err := NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{t: t, authority: authority}
	roots, err := poolOf(authority.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	serve := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	for name, sign := range map[string]func(*x509.CertificateRequest) ([]byte, error){
		"by its own certificate":           func(csr *x509.CertificateRequest) ([]byte, error) { return authority.issue("c1", "", csr, time.Now()) },
		"by one for servers":               forge(authority.pairs[0], serve),
		"by the hub's name for clients":    forge(authority.pairs[0], func(c *x509.Certificate) { c.URIs = []*url.URL{hubURI()} }),
		"by the hub's name among its own":  forge(authority.pairs[0], func(c *x509.Certificate) { serve(c); c.URIs = append(c.URIs, hubURI()) }),
		"by a certificate that has ended":  forge(authority.pairs[0], func(c *x509.Certificate) { serve(c); c.URIs = []*url.URL{hubURI()}; c.NotAfter = time.Now() }),
		"by a cluster that is named /hub/": forge(authority.pairs[0], func(c *x509.Certificate) { serve(c); c.URIs = clusterURIs("../hub") }),
	} {
		t.Run(name, func(t *testing.T) {
			leaf := h.certificate(sign).Leaf
			if err := verifyHub([]*x509.Certificate{leaf}, roots, time.Now().Add(time.Second)); err == nil {
				t.Error("it was taken for the hub")
			}
		})
	}
	right, err := authority.hubCertificate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := verifyHub([]*x509.Certificate{right.Leaf}, roots, time.Now()); err != nil {
		t.Errorf("the hub itself was refused: %v", err)
	}
}

func TestCertificateIsRenewedAtTwoThirdsWithoutLosingTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		if err := h.Admit("c1", Settings{BeatInterval: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		a := h.startAgent("c1")
		wait(time.Second)
		first, since := a.vault.kept(), h.Snapshot("c1").Since
		wait(15 * time.Hour)
		if a.vault.kept() != first {
			t.Fatal("the certificate was renewed before its time")
		}
		wait(2 * time.Hour)
		second := a.vault.kept()
		if second.Certificate == first.Certificate || second.Key == first.Key {
			t.Fatal("17 hours on, certificate or key is still the first")
		}
		if got := h.Snapshot("c1"); !got.Connected || !got.Since.Equal(since) {
			t.Errorf("the session was lost over the renewal: %+v", got)
		}
		if left := time.Until(a.Status().CertificateExpires); left < 22*time.Hour {
			t.Errorf("the new certificate has %s left", left)
		}
		h.network.cut()
		wait(30 * time.Second)
		if got := h.Snapshot("c1"); !got.Connected {
			t.Errorf("the renewed certificate opened no session: %+v", got)
		}
	})
}

func TestMemberThatWasOffForDaysComesBackByItself(t *testing.T) {
	for name, test := range map[string]struct {
		off   time.Duration
		comes bool
	}{
		"a weekend": {60 * time.Hour, true}, "a month": {30 * 24 * time.Hour, true}, "too long": {32 * 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				a := h.startAgent("c1")
				wait(time.Second)
				a.halt()
				wait(test.off)
				b := h.runAgent(h.config("c1", "", a.vault), a.vault)
				wait(time.Minute)
				if s := b.Status(); s.Connected != test.comes || !test.comes && !strings.Contains(s.Reason, "kubectl weir join") {
					t.Errorf("status is %+v, want connected %t, or the way out", s, test.comes)
				}
			})
		})
	}
}

func TestEndedCertificateOpensNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		certificate := h.identity("c1")
		wait(25 * time.Hour)
		stream, err := pb.NewMemberLinkClient(h.connect(certificate)).Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
			t.Errorf("session: %v, want Unauthenticated", err)
		}
	})
}

func TestForgottenMemberCanNotRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		conn := h.connect(h.identity("c1"))
		h.Forget("c1")
		_, err := pb.NewRegistrationClient(conn).Renew(t.Context(), &pb.RenewRequest{Csr: csrOf(t)})
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("renew: %v, want PermissionDenied", err)
		}
	})
}

func TestHubCertificateIsReplacedAtTwoThirdsOfItsLife(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	authority, err := NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	at := func(after time.Duration) *big.Int {
		c, err := authority.hubCertificate(now.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber
	}
	first := at(0)
	if at(15*time.Hour).Cmp(first) != 0 {
		t.Error("the certificate was replaced before its time")
	}
	if at(16*time.Hour).Cmp(first) == 0 {
		t.Error("the certificate was not replaced at two thirds of its life")
	}
}

// memoryAuthority is an AuthorityStore that can be changed behind a hub's back.
type memoryAuthority struct {
	certificates, keys []byte
	saves              int
	before             func(*memoryAuthority) error // runs at the start of Save
}

func (m *memoryAuthority) Load(context.Context) (certificates, keys []byte, err error) {
	return m.certificates, m.keys, nil
}

func (m *memoryAuthority) Save(_ context.Context, certificates, keys []byte) error {
	if m.before != nil {
		if err := m.before(m); err != nil {
			return err
		}
	}
	m.certificates, m.keys = certificates, keys
	m.saves++
	return nil
}

func TestSuccessorIsTrustedBeforeItSigns(t *testing.T) {
	ctx, store := t.Context(), &memoryAuthority{}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	authority, err := OpenAuthority(ctx, store, start)
	if err != nil {
		t.Fatal(err)
	}
	first := authority.Bundle()
	const day = 24 * time.Hour
	tests := []struct {
		after   time.Duration
		trusted int
		newest  bool // the newest of them signs
	}{{100 * day, 1, true}, {244 * day, 2, false}, {245 * day, 2, false}, {247 * day, 2, true}, {364 * day, 2, true}, {366 * day, 1, true}}
	for _, test := range tests {
		now := start.Add(test.after)
		if err := authority.Rotate(ctx, store, now); err != nil {
			t.Fatal(err)
		}
		certificates, err := parseCertificates(authority.Bundle())
		if err != nil {
			t.Fatal(err)
		}
		signs := authority.signer(now).certificate.Equal(certificates[len(certificates)-1])
		if len(certificates) != test.trusted || signs != test.newest {
			t.Errorf("on day %d: %d trusted, newest signs: %t; want %d, %t", test.after/day, len(certificates), signs, test.trusted, test.newest)
		}
		if again, err := OpenAuthority(ctx, store, now); err != nil || string(again.Bundle()) != string(authority.Bundle()) {
			t.Errorf("on day %d a restart gives another authority (%v)", test.after/day, err)
		}
	}
	if string(first) == string(authority.Bundle()) || store.saves != 3 {
		t.Errorf("%d saves, want 3: the first, its successor, its end", store.saves)
	}
}

func TestTwoHubsThatStartAtOnceShareOneAuthority(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	other, err := NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	store := &memoryAuthority{before: func(m *memoryAuthority) error {
		if m.certificates != nil {
			return nil
		}
		if m.certificates, m.keys, err = other.Marshal(); err != nil {
			return err
		}
		return errors.New("conflict")
	}}
	authority, err := OpenAuthority(t.Context(), store, now)
	if err != nil {
		t.Fatal(err)
	}
	if string(authority.Bundle()) != string(other.Bundle()) {
		t.Error("the second hub signs with an authority of its own")
	}
}

func TestAuthorityThatDoesNotFitTogetherIsRefused(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one, errOne := NewAuthority(now)
	two, errTwo := NewAuthority(now)
	if err := errors.Join(errOne, errTwo); err != nil {
		t.Fatal(err)
	}
	certificates, keys, errOne := one.Marshal()
	_, otherKeys, errTwo := two.Marshal()
	if err := errors.Join(errOne, errTwo); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string][2][]byte{
		"nothing": {nil, nil}, "no keys": {certificates, nil}, "another's key": {certificates, otherKeys},
		"key for certificate": {keys, keys}, "certificate for key": {certificates, certificates}, "noise": {[]byte("x"), []byte("y")},
	} {
		if _, err := ParseAuthority(test[0], test[1]); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
	if _, err := ParseAuthority(certificates, keys); err != nil {
		t.Errorf("what Marshal wrote was refused: %v", err)
	}
}
