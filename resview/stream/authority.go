// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"sync"
	"time"
)

const (
	authorityLife = 365 * 24 * time.Hour
	leafLife      = 24 * time.Hour
	// successorDelay is how long a successor is only trusted before it signs. Agents renew every 16 hours and learn the
	// bundle then, so that after two days every agent that is alive trusts the successor.
	successorDelay = 48 * time.Hour
	// renewGrace is how long after its end a certificate still serves to renew, and for nothing else: a member that was
	// powered off over the holidays comes back without a person. Forget takes even that away.
	renewGrace = 30 * 24 * time.Hour
	// clockSkew is how far ahead of an agent's clock the hub's may be.
	clockSkew = 5 * time.Minute
)

// AuthorityStore keeps the hub's authority, as a rule in a Secret.
type AuthorityStore interface {
	// Load returns the certificates and their private keys as PEM, in the same order. Both are empty when there is none.
	Load(ctx context.Context) (certificates, keys []byte, err error)
	// Save replaces both. It must fail when they were changed since the last Load, so that two hubs that start at once
	// do not each sign with their own.
	Save(ctx context.Context, certificates, keys []byte) error
}

// Authority signs for the hub: certificates of members, of a day, and its own server certificate. It is safe for
// concurrent use. It keeps one certificate of its own, or two while a successor takes over.
type Authority struct {
	mu    sync.Mutex
	pairs []authorityPair // oldest first
	hub   *tls.Certificate
}

type authorityPair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// OpenAuthority loads the authority, makes it when there is none, and makes its successor when it is past two thirds of
// its life of 365 days. A hub calls it on start; Rotate does the same for one that runs on.
func OpenAuthority(ctx context.Context, store AuthorityStore, now time.Time) (*Authority, error) {
	a := &Authority{}
	if err := a.Rotate(ctx, store, now); err != nil {
		return nil, err
	}
	return a, nil
}

// NewAuthority makes an authority from nothing. It is kept nowhere: see Marshal.
func NewAuthority(now time.Time) (*Authority, error) {
	pair, err := newAuthorityPair(now)
	if err != nil {
		return nil, err
	}
	return &Authority{pairs: []authorityPair{pair}}, nil
}

// ParseAuthority reads what Marshal wrote.
func ParseAuthority(certificates, keys []byte) (*Authority, error) {
	pairs, err := parseAuthorityPairs(certificates, keys)
	if err != nil {
		return nil, err
	}
	return &Authority{pairs: pairs}, nil
}

// Rotate brings the authority up to date with its store: it reads what the store holds, drops what has expired, adds a
// successor when the newest is past two thirds of its life, and saves if it changed anything. Call it once a day.
func (a *Authority) Rotate(ctx context.Context, store AuthorityStore, now time.Time) error {
	const attempts = 3
	var err error
	for range attempts {
		if err = a.rotateOnce(ctx, store, now); err == nil {
			return nil
		}
	}
	return fmt.Errorf("hub's certificate authority: %w", err)
}

func (a *Authority) rotateOnce(ctx context.Context, store AuthorityStore, now time.Time) error {
	certificates, keys, err := store.Load(ctx)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	var stored []authorityPair
	if len(certificates) > 0 || len(keys) > 0 {
		if stored, err = parseAuthorityPairs(certificates, keys); err != nil {
			return err
		}
	}
	pairs := make([]authorityPair, 0, len(stored)+1)
	for _, p := range stored {
		if now.Before(p.certificate.NotAfter) {
			pairs = append(pairs, p)
		}
	}
	if len(pairs) == 0 || pastTwoThirds(pairs[len(pairs)-1].certificate, now) {
		pair, err := newAuthorityPair(now)
		if err != nil {
			return err
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) != len(stored) || !pairs[len(pairs)-1].certificate.Equal(stored[len(stored)-1].certificate) {
		certificates, keys, err := marshalAuthorityPairs(pairs)
		if err != nil {
			return err
		}
		if err := store.Save(ctx, certificates, keys); err != nil {
			return fmt.Errorf("save: %w", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pairs, a.hub = pairs, nil
	return nil
}

// Marshal returns the certificates and private keys as PEM.
func (a *Authority) Marshal() (certificates, keys []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return marshalAuthorityPairs(a.pairs)
}

// Bundle returns the certificates that agents shall trust, as PEM. It goes with each join token.
func (a *Authority) Bundle() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bundle(a.pairs)
}

// issue signs a member's certificate for the key of the request. Nothing else of the request counts.
func (a *Authority) issue(cluster, registration string, request *x509.CertificateRequest, now time.Time) ([]byte, error) {
	subject := pkix.Name{SerialNumber: registration}
	return a.sign(clusterURI(cluster), subject, x509.ExtKeyUsageClientAuth, request.PublicKey, now)
}

// hubCertificate returns the server certificate and makes a new one at two thirds of its life.
func (a *Authority) hubCertificate(now time.Time) (*tls.Certificate, error) {
	a.mu.Lock()
	current := a.hub
	a.mu.Unlock()
	if current != nil && !pastTwoThirds(current.Leaf, now) {
		return current, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("hub certificate: %w", err)
	}
	der, err := a.sign(hubURI(), pkix.Name{}, x509.ExtKeyUsageServerAuth, &key.PublicKey, now)
	if err != nil {
		return nil, fmt.Errorf("hub certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("hub certificate: %w", err)
	}
	made := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hub = made
	return made, nil
}

func (a *Authority) sign(name *url.URL, subject pkix.Name, usage x509.ExtKeyUsage, public any, now time.Time) ([]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	parent := a.signer(now)
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(leafLife),
		URIs:         []*url.URL{name},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.certificate, public, parent.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", name, err)
	}
	return der, nil
}

// signer is the newest authority that agents have had the time to learn, else the oldest.
func (a *Authority) signer(now time.Time) authorityPair {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(a.pairs) - 1; i > 0; i-- {
		if !now.Before(a.pairs[i].certificate.NotBefore.Add(clockSkew + successorDelay)) {
			return a.pairs[i]
		}
	}
	return a.pairs[0]
}

// verify returns the member that a client certificate speaks for. With a grace it also accepts one that ended no longer
// ago than that.
func (a *Authority) verify(leaf *x509.Certificate, now time.Time, grace time.Duration) (string, error) {
	at := now
	if now.After(leaf.NotAfter) && now.Before(leaf.NotAfter.Add(grace)) {
		at = leaf.NotAfter
	}
	a.mu.Lock()
	pool := x509.NewCertPool()
	for _, p := range a.pairs {
		pool.AddCert(p.certificate)
	}
	a.mu.Unlock()
	options := x509.VerifyOptions{Roots: pool, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := leaf.Verify(options); err != nil {
		return "", fmt.Errorf("client certificate: %w", err)
	}
	return clusterOf(leaf)
}

func newAuthorityPair(now time.Time) (authorityPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authorityPair{}, fmt.Errorf("make authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return authorityPair{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"weir"}, CommonName: "weir hub " + serial.Text(36)},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return authorityPair{}, fmt.Errorf("make authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return authorityPair{}, fmt.Errorf("make authority: %w", err)
	}
	return authorityPair{certificate: certificate, key: key}, nil
}

func parseAuthorityPairs(certificates, keys []byte) ([]authorityPair, error) {
	parsed, err := parseCertificates(certificates)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	pairs := make([]authorityPair, 0, len(parsed))
	for _, certificate := range parsed {
		var block *pem.Block
		if block, keys = pem.Decode(keys); block == nil {
			return nil, errors.New("authority: fewer keys than certificates")
		}
		key, err := parseKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("authority: %w", err)
		}
		if !key.PublicKey.Equal(certificate.PublicKey) || !certificate.IsCA {
			return nil, errors.New("authority: certificate and key do not belong together")
		}
		pairs = append(pairs, authorityPair{certificate: certificate, key: key})
	}
	if len(pairs) == 0 {
		return nil, errors.New("authority: no certificate")
	}
	return pairs, nil
}

func marshalAuthorityPairs(pairs []authorityPair) (certificates, keys []byte, err error) {
	var out bytes.Buffer
	for _, p := range pairs {
		key, err := marshalKey(p.key)
		if err != nil {
			return nil, nil, err
		}
		out.Write(key)
	}
	return bundle(pairs), out.Bytes(), nil
}

func bundle(pairs []authorityPair) []byte {
	var out bytes.Buffer
	for _, p := range pairs {
		out.Write(encodeCertificate(p.certificate.Raw))
	}
	return out.Bytes()
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	return serial, nil
}
