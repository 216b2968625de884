// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Token is what the hub keeps of a join token: enough to recognise it, not enough to use it.
type Token struct {
	// ID finds the token; it is no secret.
	ID string
	// Cluster is the only member that the token lets join.
	Cluster string
	// Hash is the SHA-256 of the secret part. The secret has 160 bits of entropy, so a plain hash withstands guessing.
	Hash [sha256.Size]byte
	// Expires ends the token's life whether it was used or not.
	Expires time.Time
}

// ErrNoToken is returned by a TokenStore that does not know an ID.
var ErrNoToken = errors.New("no such token")

// ErrTokenUsed is returned by a TokenStore whose token was burnt for another key.
var ErrTokenUsed = errors.New("token was used already")

// TokenStore keeps join tokens. It must be safe for concurrent use.
type TokenStore interface {
	// Token returns the record of an ID, used or not, or ErrNoToken.
	Token(ctx context.Context, id string) (Token, error)
	// Burn marks the token as used by the public key with this hash. It must be atomic: of two calls with different
	// keys exactly one returns nil and the other ErrTokenUsed. A further call with the same key returns nil, so that
	// an agent whose answer was lost on the way can ask again.
	Burn(ctx context.Context, id string, key [sha256.Size]byte) error
}

var tokenEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const (
	tokenIDBytes     = 5  // 8 characters
	tokenSecretBytes = 20 // 32 characters
	maxTokenLength   = 128
)

// NewToken makes a token with which the agent of cluster may join before expires. It returns the text ID.SECRET, which
// is shown to the user and kept nowhere, and the record to store.
func NewToken(cluster string, expires time.Time) (string, Token, error) {
	if err := checkName("cluster", cluster); err != nil {
		return "", Token{}, err
	}
	raw := make([]byte, tokenIDBytes+tokenSecretBytes)
	rand.Read(raw) // Never fails: it ends the process instead.
	id := tokenEncoding.EncodeToString(raw[:tokenIDBytes])
	secret := tokenEncoding.EncodeToString(raw[tokenIDBytes:])
	return id + "." + secret, Token{ID: id, Cluster: cluster, Hash: sha256.Sum256([]byte(secret)), Expires: expires}, nil
}

// TokenID returns the part of a token before the dot, which may be shown and logged.
func TokenID(text string) (string, error) {
	id, _, err := splitToken(text)
	return id, err
}

func splitToken(text string) (id, secret string, err error) {
	id, secret, ok := strings.Cut(text, ".")
	if !ok || len(text) > maxTokenLength || id == "" || secret == "" || !lowerAlphanumeric(id) {
		return "", "", errors.New("malformed token, want ID.SECRET as `kubectl weir join` printed it")
	}
	return id, secret, nil
}

func lowerAlphanumeric(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// errBadToken is all that a caller without a certificate learns of a token that does not hold.
var errBadToken = errors.New("token is unknown, expired or wrong; make a new one with `kubectl weir join`")

// checkToken returns the record of a token that may be used now. The secret is compared in constant time, and compared
// also where the ID is unknown, so that the time of the answer tells neither.
func checkToken(ctx context.Context, store TokenStore, text string, now time.Time) (Token, error) {
	id, secret, err := splitToken(text)
	if err != nil {
		return Token{}, errBadToken
	}
	token, err := store.Token(ctx, id)
	unknown := errors.Is(err, ErrNoToken)
	if err != nil && !unknown {
		return Token{}, fmt.Errorf("look up token %s: %w", id, err)
	}
	hash := sha256.Sum256([]byte(secret))
	same := subtle.ConstantTimeCompare(hash[:], token.Hash[:]) == 1
	if unknown || !same || !now.Before(token.Expires) {
		return Token{}, errBadToken
	}
	return token, nil
}
