// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/weir-io/weir/resview/stream"
)

// LabelToken marks the Secret of a join token.
const LabelToken = "weir.io/join-token" //nolint:gosec // the name of a label, and no credential.

const (
	tokenPrefix = "weir-join-"
	keyCluster  = "cluster"
	keyHash     = "hash"
	keyExpires  = "expires"
	keyUsedBy   = "usedBy"
)

// Tokens is a stream.TokenStore over Secrets. It is safe for concurrent use.
type Tokens struct {
	Client    kubernetes.Interface
	Namespace string
}

// TokenSecret is the Secret that holds a token's record.
func TokenSecret(namespace string, t stream.Token) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenPrefix + t.ID, Labels: map[string]string{LabelToken: "true"}},
		StringData: map[string]string{
			keyCluster: t.Cluster, keyHash: hex.EncodeToString(t.Hash[:]), keyExpires: t.Expires.UTC().Format(time.RFC3339),
		},
	}
}

// Token returns a token's record, or stream.ErrNoToken.
func (t *Tokens) Token(ctx context.Context, id string) (stream.Token, error) {
	s, err := t.Client.CoreV1().Secrets(t.Namespace).Get(ctx, tokenPrefix+id, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return stream.Token{}, stream.ErrNoToken
	}
	if err != nil {
		return stream.Token{}, fmt.Errorf("read join token %s: %w", id, err)
	}
	return parseToken(id, s)
}

func parseToken(id string, s *corev1.Secret) (stream.Token, error) {
	out := stream.Token{ID: id, Cluster: string(s.Data[keyCluster])}
	hash, err := hex.DecodeString(string(s.Data[keyHash]))
	if err != nil || len(hash) != sha256.Size {
		return stream.Token{}, fmt.Errorf("join token %s: Secret %s/%s holds no hash: delete it and join anew", id, s.Namespace, s.Name)
	}
	copy(out.Hash[:], hash)
	if out.Expires, err = time.Parse(time.RFC3339, string(s.Data[keyExpires])); err != nil {
		return stream.Token{}, fmt.Errorf("join token %s: Secret %s/%s holds no time: delete it and join anew", id, s.Namespace, s.Name)
	}
	return out, nil
}

// Burn marks a token as used by a key.
func (t *Tokens) Burn(ctx context.Context, id string, key [sha256.Size]byte) error {
	by := hex.EncodeToString(key[:])
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		s, err := t.Client.CoreV1().Secrets(t.Namespace).Get(ctx, tokenPrefix+id, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return stream.ErrNoToken
		}
		if err != nil {
			return fmt.Errorf("read join token %s: %w", id, err)
		}
		switch used := string(s.Data[keyUsedBy]); used {
		case by:
			return nil
		case "":
		default:
			return stream.ErrTokenUsed
		}
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[keyUsedBy] = []byte(by)
		_, err = t.Client.CoreV1().Secrets(t.Namespace).Update(ctx, s, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
}

// Revoke deletes the tokens of a cluster, used or not, all but the one with the ID keep. It returns how many there were.
func (t *Tokens) Revoke(ctx context.Context, cluster, keep string) (int, error) {
	list, err := t.Client.CoreV1().Secrets(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: LabelToken})
	if err != nil {
		return 0, fmt.Errorf("list join tokens: %w", err)
	}
	gone := 0
	for i := range list.Items {
		s := &list.Items[i]
		if string(s.Data[keyCluster]) != cluster || s.Name == tokenPrefix+keep {
			continue
		}
		err := t.Client.CoreV1().Secrets(t.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return gone, fmt.Errorf("delete join token %s: %w", s.Name, err)
		}
		gone++
	}
	return gone, nil
}

// Sweep deletes the tokens that have expired.
func (t *Tokens) Sweep(ctx context.Context, now time.Time) error {
	list, err := t.Client.CoreV1().Secrets(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: LabelToken})
	if err != nil {
		return fmt.Errorf("list join tokens: %w", err)
	}
	for i := range list.Items {
		s := &list.Items[i]
		expires, err := time.Parse(time.RFC3339, string(s.Data[keyExpires]))
		if err == nil && now.Before(expires) {
			continue
		}
		if err := t.Client.CoreV1().Secrets(t.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete join token %s: %w", s.Name, err)
		}
	}
	return nil
}
