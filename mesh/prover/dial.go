// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// dialOptions are how a canary connects: TLS against the mesh's roots, with a
// bearer token on each stream. Both are asked for anew at each connection,
// since both are rotated while a canary lives.
func dialOptions(c Credentials, serverName string) []grpc.DialOption {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: serverName,
		// The library can verify only against roots that are fixed when the
		// canary is made. VerifyConnection does what it would do, against the
		// roots of now.
		InsecureSkipVerify: true, //nolint:gosec // See VerifyConnection.
		VerifyConnection: func(state tls.ConnectionState) error {
			return verify(c, serverName, state)
		},
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithPerRPCCredentials(bearer{c}),
	}
}

func verify(c Credentials, serverName string, state tls.ConnectionState) error {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	pem, err := c.RootCA(ctx)
	if err != nil {
		return fmt.Errorf("the mesh's root certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("the mesh's root certificates: no certificate in them")
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("istiod shows no certificate")
	}
	between := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	_, err = state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, DNSName: serverName, CurrentTime: time.Now(),
	})
	if err != nil {
		return fmt.Errorf("istiod's certificate: %w", err)
	}
	return nil
}

// bearer shows the token. It is never sent without TLS.
type bearer struct{ c Credentials }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.c.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("token for istiod: %w", err)
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return true }

// isNetwork tells whether a question failed on its way, or took too long.
func isNetwork(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
