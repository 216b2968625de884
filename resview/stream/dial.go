// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

const (
	connectTimeout  = 5 * time.Second
	maxHubMessage   = 32 << 20 // 5,000 targets with their fenced addresses
	clientKeepalive = 10 * time.Second
)

// dial makes a connection that trusts nobody but the hub under its authority.
func dial(config *ClientConfig, with *credential, now func() time.Time) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(clientTLS(with, now))),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(compressorName), grpc.MaxCallRecvMsgSize(maxHubMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: clientKeepalive, Timeout: keepaliveTimeout}),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	}
	conn, err := grpc.NewClient("passthrough:///"+config.Hub, append(options, config.DialOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("dial hub %s: %w", config.Hub, err)
	}
	return conn, nil
}

// clientTLS checks the hub by its SPIFFE ID instead of by host name. The library's own check is for host names only, so
// it is switched off and done here in full.
func clientTLS(with *credential, now func() time.Time) *tls.Config {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks chain, use and name.
		VerifyConnection: func(state tls.ConnectionState) error {
			return verifyHub(state.PeerCertificates, with.roots, now())
		},
	}
	if with.certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return with.certificate, nil
		}
	}
	return config
}

func verifyHub(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) error {
	if len(chain) == 0 {
		return errors.New("the hub shows no certificate")
	}
	options := x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if _, err := chain[0].Verify(options); err != nil {
		return fmt.Errorf("the hub's certificate is not signed by the CA this agent was given: %w", err)
	}
	if !isHub(chain[0]) {
		return errors.New("the peer is not the hub: its certificate is another's")
	}
	return nil
}

// sleep waits, and reports false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
