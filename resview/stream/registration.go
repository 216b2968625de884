// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/weir-io/weir/resview/pb"
)

const maxRequestBytes = 8 << 10

// registration is the Server as gRPC sees it.
type registration struct {
	pb.UnimplementedRegistrationServer
	*Server
}

// Join trades a token for a certificate of the token's cluster. Whoever calls learns no more than that a token does not
// hold; the log has the cause. The token is burnt last, so that a mistake in the request does not cost it.
func (r *registration) Join(ctx context.Context, request *pb.JoinRequest) (*pb.CertificateResponse, error) {
	s := r.Server
	if !s.joins.allow(remoteHost(ctx)) {
		return nil, s.joinFailed(codes.ResourceExhausted, "limited", errors.New("too many attempts to join; try again in a minute"))
	}
	csr, err := parseRequest(request.GetCsr())
	if err != nil {
		return nil, s.joinFailed(codes.InvalidArgument, "request", err)
	}
	token, err := checkToken(ctx, s.config.Tokens, request.GetToken(), s.now())
	if errors.Is(err, errBadToken) {
		return nil, s.joinFailed(codes.PermissionDenied, "token", err)
	}
	if err != nil {
		s.log.Error("join failed", "error", err)
		return nil, s.joinFailed(codes.Unavailable, "store", errors.New("the hub can not look up tokens now; try again"))
	}
	if s.member(token.Cluster) == nil {
		return nil, s.joinFailed(codes.FailedPrecondition, "cluster", errors.New(notRegistered(token.Cluster)))
	}
	err = s.config.Tokens.Burn(ctx, token.ID, sha256.Sum256(csr.RawSubjectPublicKeyInfo))
	if errors.Is(err, ErrTokenUsed) || errors.Is(err, ErrNoToken) {
		return nil, s.joinFailed(codes.PermissionDenied, "used", fmt.Errorf("token %s was used already: make a new one with `kubectl weir join`", token.ID))
	}
	if err != nil {
		s.log.Error("join failed", "error", err)
		return nil, s.joinFailed(codes.Unavailable, "store", errors.New("the hub can not burn the token now; try again"))
	}
	response, err := s.certify(token.Cluster, csr)
	if err != nil {
		return nil, err
	}
	s.metrics.joins.WithLabelValues("joined").Inc()
	s.log.Info("cluster joined", "cluster", token.Cluster, "token", token.ID)
	return response, nil
}

// Renew trades a certificate for a new one of the same cluster. The old one may have ended up to renewGrace ago.
func (r *registration) Renew(ctx context.Context, request *pb.RenewRequest) (*pb.CertificateResponse, error) {
	s := r.Server
	cluster, err := s.identify(ctx, renewGrace)
	if err != nil {
		return nil, err
	}
	if s.member(cluster) == nil {
		return nil, status.Error(codes.PermissionDenied, notRegistered(cluster))
	}
	if !s.joins.allow(cluster) {
		return nil, status.Error(codes.ResourceExhausted, "too many renewals; try again in a minute")
	}
	csr, err := parseRequest(request.GetCsr())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return s.certify(cluster, csr)
}

func (s *Server) certify(cluster string, csr *x509.CertificateRequest) (*pb.CertificateResponse, error) {
	m := s.member(cluster)
	if m == nil {
		return nil, status.Error(codes.PermissionDenied, notRegistered(cluster))
	}
	der, err := s.config.Authority.issue(cluster, m.registration, csr, s.now())
	if err != nil {
		s.log.Error("certificate not issued", "cluster", cluster, "error", err)
		return nil, status.Error(codes.Internal, "the hub can not sign now; its log says why")
	}
	return &pb.CertificateResponse{Certificate: der, CaBundle: s.config.Authority.Bundle(), Cluster: cluster}, nil
}

func (s *Server) joinFailed(code codes.Code, outcome string, err error) error {
	s.metrics.joins.WithLabelValues(outcome).Inc()
	s.log.Info("join refused", "outcome", outcome, "reason", err.Error())
	return status.Error(code, err.Error())
}

// parseRequest reads a signing request. Only its key is used; it must be one that is cheap to verify and not weak.
func parseRequest(der []byte) (*x509.CertificateRequest, error) {
	if len(der) > maxRequestBytes {
		return nil, fmt.Errorf("signing request of more than %d bytes", maxRequestBytes)
	}
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, errors.New("malformed signing request")
	}
	key, ok := csr.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("signing request must be for an ECDSA key on P-256")
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, errors.New("signing request is not signed by its own key")
	}
	return csr, nil
}

// verifyConnection runs in each handshake. Without a certificate a peer can do nothing but Join. One that is wrong ends
// the handshake, so that the peer learns it at once; one that has ended is let in to Renew, and turned away elsewhere.
func (s *Server) verifyConnection(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	_, err := s.config.Authority.verify(state.PeerCertificates[0], s.now(), renewGrace)
	return err
}

func peerCertificate(ctx context.Context) (*x509.Certificate, error) {
	p, ok := peer.FromContext(ctx)
	if ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
			return info.State.PeerCertificates[0], nil
		}
	}
	return nil, status.Error(codes.Unauthenticated, "a client certificate is required; join first")
}

func remoteHost(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}

// joinLimiter bounds how often certificates are asked for: by all together, and by one source. The table of sources is
// bounded; when it is full it is emptied, and the common bound still holds.
type joinLimiter struct {
	all *rate.Limiter

	mu      sync.Mutex
	sources map[string]*rate.Limiter
}

const (
	joinsPerSecond  = 20
	joinsBurst      = 200
	sourcePerSecond = 0.5
	sourceBurst     = 10
	maxSources      = 4096
)

func newJoinLimiter() *joinLimiter {
	return &joinLimiter{all: rate.NewLimiter(joinsPerSecond, joinsBurst), sources: map[string]*rate.Limiter{}}
}

func (l *joinLimiter) allow(source string) bool {
	l.mu.Lock()
	limiter := l.sources[source]
	if limiter == nil {
		if len(l.sources) >= maxSources {
			clear(l.sources)
		}
		limiter = rate.NewLimiter(sourcePerSecond, sourceBurst)
		l.sources[source] = limiter
	}
	l.mu.Unlock()
	return limiter.Allow() && l.all.Allow()
}
