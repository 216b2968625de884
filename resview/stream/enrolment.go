// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-io/weir/resview/pb"
)

// enrolment gets and renews the agent's certificate.
//
//	token that was not used yet ──▶ Join ──▶ certificate ──▶ 2/3 of its life ──▶ Renew ──▶ certificate …
//
// A join or renewal that fails leaves the certificate at hand in use as long as it lasts. It is used from one goroutine.
type enrolment struct {
	config   *ClientConfig
	now      func() time.Time
	log      *slog.Logger
	loaded   bool
	identity Identity
}

// credential is what the agent shows and whom it trusts.
type credential struct {
	certificate *tls.Certificate // nil: none, only to join
	roots       *x509.CertPool
}

// ensure returns a credential to open a session with, and gets or renews it first when that is due.
func (e *enrolment) ensure(ctx context.Context) (*credential, error) {
	if !e.loaded {
		identity, err := e.config.Vault.Load(ctx)
		if err != nil {
			return nil, err
		}
		e.identity, e.loaded = identity, true
	}
	if err := e.joinIfNew(ctx); err != nil {
		if e.identity.Certificate == "" {
			return nil, err
		}
		e.log.Warn("join with the new token failed, the present certificate stays in use", "error", err)
	}
	current, err := e.credential()
	if err != nil {
		return nil, err
	}
	if !pastTwoThirds(current.certificate.Leaf, e.now()) {
		return current, nil
	}
	err = e.renew(ctx, current)
	switch {
	case err == nil:
		return e.credential()
	case e.now().Before(current.certificate.Leaf.NotAfter):
		e.log.Warn("renewal failed, the present certificate stays in use", "error", err)
		return current, nil
	default:
		return nil, fmt.Errorf("certificate ended on %s and was not renewed: %w; if this lasts, make a new token with `kubectl weir join` and hand it to the agent",
			current.certificate.Leaf.NotAfter.Format(time.RFC3339), err)
	}
}

// joinIfNew joins when there is a token that was not joined with yet.
func (e *enrolment) joinIfNew(ctx context.Context) error {
	token, err := e.config.Token()
	if err != nil {
		return fmt.Errorf("read join token: %w", err)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		if e.identity.Certificate == "" {
			return errors.New("there is neither a certificate nor a join token: make a token with `kubectl weir join` and hand it to the agent")
		}
		return nil
	}
	id, err := TokenID(token)
	if err != nil {
		return err
	}
	if id == e.identity.TokenID && e.identity.Certificate != "" {
		return nil
	}
	return e.join(ctx, id, token)
}

// join asks for the first certificate. The key is kept before it is shown to the hub: an answer that is lost on the way
// can be asked for again, with the same key only.
func (e *enrolment) join(ctx context.Context, id, token string) error {
	if e.identity.PendingToken != id || e.identity.PendingKey == "" {
		key, err := newKey()
		if err != nil {
			return err
		}
		pending := e.identity
		pending.PendingToken, pending.PendingKey = id, key
		if err := e.save(ctx, pending); err != nil {
			return err
		}
	}
	pin, err := e.config.HubCA()
	if err != nil {
		return fmt.Errorf("read the hub's CA: %w", err)
	}
	roots, err := poolOf(pin)
	if err != nil {
		return fmt.Errorf("the hub's CA: %w", err)
	}
	csr, err := requestFor(e.identity.PendingKey)
	if err != nil {
		return err
	}
	response, err := e.ask(ctx, &credential{roots: roots}, func(c pb.RegistrationClient, ctx context.Context) (*pb.CertificateResponse, error) {
		return c.Join(ctx, &pb.JoinRequest{Token: token, Csr: csr})
	})
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	e.log.Info("joined", "cluster", response.GetCluster(), "token", id)
	return e.adopt(ctx, e.identity.PendingKey, id, response)
}

func (e *enrolment) renew(ctx context.Context, current *credential) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	csr, err := requestFor(key)
	if err != nil {
		return err
	}
	response, err := e.ask(ctx, current, func(c pb.RegistrationClient, ctx context.Context) (*pb.CertificateResponse, error) {
		return c.Renew(ctx, &pb.RenewRequest{Csr: csr})
	})
	if err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	if err := e.adopt(ctx, key, e.identity.TokenID, response); err != nil {
		return err
	}
	e.log.Info("certificate renewed")
	return nil
}

// ask makes one registration call on a connection of its own: the session's may show an older certificate.
func (e *enrolment) ask(ctx context.Context, with *credential, call func(pb.RegistrationClient, context.Context) (*pb.CertificateResponse, error)) (*pb.CertificateResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	conn, err := dial(e.config, with, e.now)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // Nothing is in flight on it.
	response, err := call(pb.NewRegistrationClient(conn), ctx)
	if err != nil {
		return nil, plain(err)
	}
	return response, nil
}

// adopt checks what the hub answered and keeps it.
func (e *enrolment) adopt(ctx context.Context, key, tokenID string, response *pb.CertificateResponse) error {
	leaf, err := x509.ParseCertificate(response.GetCertificate())
	if err != nil {
		return fmt.Errorf("the hub's answer: %w", err)
	}
	cluster, err := clusterOf(leaf)
	if err != nil {
		return fmt.Errorf("the hub's answer: %w", err)
	}
	if cluster != e.config.Cluster {
		return fmt.Errorf("the token is for cluster %q, this agent is set up as %q: give it the token of its own cluster, or change --cluster", cluster, e.config.Cluster)
	}
	if _, err := poolOf(response.GetCaBundle()); err != nil {
		return fmt.Errorf("the hub's answer: %w", err)
	}
	identity := Identity{
		Key:         key,
		Certificate: string(encodeCertificate(response.GetCertificate())),
		CA:          string(response.GetCaBundle()),
		TokenID:     tokenID,
	}
	if _, err := tls.X509KeyPair([]byte(identity.Certificate), []byte(identity.Key)); err != nil {
		return fmt.Errorf("the hub's answer: %w", err)
	}
	return e.save(ctx, identity)
}

func (e *enrolment) save(ctx context.Context, identity Identity) error {
	if err := e.config.Vault.Save(ctx, identity); err != nil {
		return err
	}
	e.identity = identity
	return nil
}

func (e *enrolment) credential() (*credential, error) {
	pair, err := tls.X509KeyPair([]byte(e.identity.Certificate), []byte(e.identity.Key))
	if err != nil {
		return nil, fmt.Errorf("kept identity: %w; join again with a new token", err)
	}
	roots, err := poolOf([]byte(e.identity.CA))
	if err != nil {
		return nil, fmt.Errorf("kept identity: %w; join again with a new token", err)
	}
	return &credential{certificate: &pair, roots: roots}, nil
}

func newKey() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make key: %w", err)
	}
	text, err := marshalKey(key)
	return string(text), err
}

func requestFor(keyPEM string) ([]byte, error) {
	block, _ := pem.Decode([]byte(keyPEM))
	if block == nil {
		return nil, errors.New("kept key is not PEM; remove the agent's state and join again")
	}
	key, err := parseKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("make signing request: %w", err)
	}
	return csr, nil
}

func poolOf(text []byte) (*x509.CertPool, error) {
	certificates, err := parseCertificates(text)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return pool, nil
}

// plain turns a gRPC error into what a person needs of it.
func plain(err error) error {
	s, ok := status.FromError(err)
	if !ok || s.Code() == codes.OK {
		return err
	}
	return fmt.Errorf("%s (%s)", clip(s.Message()), s.Code())
}
