// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	serverName = "istiod.istio-system.svc"
	testToken  = "a-token"
)

// authority is the mesh's root and istiod's certificate.
type authority struct {
	pem  []byte
	cert tls.Certificate
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return authority{
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
	}
}

// istiodServer serves a fake istiod as istiod does: secure ADS and debug.
type istiodServer struct {
	fake  *fakeIstiod
	pod   IstiodPod
	grpc  *grpc.Server
	debug *httptest.Server
	// refuse is the status that debug answers with, 0 for none.
	refuse atomic.Int64
}

// serve starts an istiod. A listener of a former process may be handed in, so
// that a restarted one has the same addresses.
func serve(t *testing.T, fake *fakeIstiod, ca authority, addr string) *istiodServer {
	t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &istiodServer{fake: fake}
	s.grpc = grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{ca.cert}, MinVersion: tls.VersionTLS12})))
	discovery.RegisterAggregatedDiscoveryServiceServer(s.grpc, s)
	go func() { _ = s.grpc.Serve(listener) }()
	s.debug = httptest.NewServer(http.HandlerFunc(s.serveDebug))
	s.pod = IstiodPod{Name: fake.name, UID: fake.uid, XDS: listener.Addr().String(), Debug: strings.TrimPrefix(s.debug.URL, "http://")}
	t.Cleanup(s.stop)
	return s
}

func (s *istiodServer) stop() {
	s.grpc.Stop()
	s.debug.Close()
}

func (s *istiodServer) serveDebug(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/version" {
		_, _ = w.Write([]byte("1.31.0-unknown-unknown"))
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if code := s.refuse.Load(); code != 0 {
		w.WriteHeader(int(code))
		return
	}
	switch r.URL.Path {
	case "/debug/syncz":
		_, _ = w.Write(s.fake.syncz())
	case "/debug/config_dump":
		if dump := s.fake.dump(r.URL.Query().Get("proxyID")); dump != nil {
			_, _ = w.Write(dump)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// DeltaAggregatedResources implements the service; no canary uses it.
func (s *istiodServer) DeltaAggregatedResources(discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, "delta")
}

// StreamAggregatedResources implements the service for canaries.
func (s *istiodServer) StreamAggregatedResources(stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	if tokens := md.Get("authorization"); len(tokens) != 1 || tokens[0] != "Bearer "+testToken {
		return status.Error(codes.Unauthenticated, "who are you")
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	node := strings.Split(first.GetNode().GetId(), "~")
	out := make(chan *discovery.DiscoveryResponse, 1000)
	conn := s.fake.connect(node[2], kindWeighted, true, func(a fakeAnswer) { out <- a.encoded })
	defer s.fake.disconnect(conn)
	conn.request(first)
	failed := make(chan error, 1)
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			conn.request(r)
		}
	}()
	for {
		select {
		case err := <-failed:
			return err
		case r := <-out:
			if err := stream.Send(r); err != nil {
				return err
			}
		}
	}
}

type fakeCredentials struct {
	ca    authority
	token string
}

func (c fakeCredentials) Token(context.Context) (string, error)  { return c.token, nil }
func (c fakeCredentials) RootCA(context.Context) ([]byte, error) { return c.ca.pem, nil }
