// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der})
}

func marshalKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

func parseKey(der []byte) (*ecdsa.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read private key: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read private key: %T is not ECDSA", parsed)
	}
	return key, nil
}

// parseCertificates reads every certificate of a PEM text. A text with none is an error, as is one that holds anything
// else, since that is a file mistaken for another.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != certificateBlock {
			return nil, fmt.Errorf("read certificates: found a block %q among them", clip(block.Type))
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read certificates: %w", err)
		}
		out = append(out, certificate)
	}
	if len(out) == 0 {
		return nil, errors.New("read certificates: no PEM certificate found")
	}
	return out, nil
}

// pastTwoThirds reports whether a certificate is due to be replaced.
func pastTwoThirds(certificate *x509.Certificate, now time.Time) bool {
	return !now.Before(renewAt(certificate))
}

func renewAt(certificate *x509.Certificate) time.Time {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return certificate.NotBefore.Add(life / 3 * 2)
}
