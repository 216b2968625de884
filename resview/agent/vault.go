// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/weir-io/weir/resview/stream"
)

// IdentitySecret is the name of the Secret in which an agent keeps who it is. It outlives pods and nodes, so that a
// join token is needed once in the life of a member.
const IdentitySecret = "weir-agent-identity"

// Vault is a stream.Vault over a Secret. It is for one goroutine.
type Vault struct {
	Client    kubernetes.Interface
	Namespace string

	version string
}

// Keys of IdentitySecret.
const (
	keyPrivate     = "tls.key"
	keyCertificate = "tls.crt"
	keyCA          = "ca.crt"
	keyToken       = "token-id"
)

// Load returns the identity; the zero one when there is none.
func (v *Vault) Load(ctx context.Context) (stream.Identity, error) {
	s, err := v.Client.CoreV1().Secrets(v.Namespace).Get(ctx, IdentitySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		v.version = ""
		return stream.Identity{}, nil
	}
	if err != nil {
		return stream.Identity{}, fmt.Errorf("read Secret %s/%s: %w", v.Namespace, IdentitySecret, err)
	}
	v.version = s.ResourceVersion
	return stream.Identity{
		Key: s.Data[keyPrivate], Certificate: s.Data[keyCertificate], CA: s.Data[keyCA], TokenID: string(s.Data[keyToken]),
	}, nil
}

// Save replaces the identity as a whole.
func (v *Vault) Save(ctx context.Context, id stream.Identity) error {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: IdentitySecret, ResourceVersion: v.version},
		Data: map[string][]byte{
			keyPrivate: id.Key, keyCertificate: id.Certificate, keyCA: id.CA, keyToken: []byte(id.TokenID),
		},
	}
	var err error
	if v.version == "" {
		s, err = v.Client.CoreV1().Secrets(v.Namespace).Create(ctx, s, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		s, err = v.Client.CoreV1().Secrets(v.Namespace).Update(ctx, s, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", v.Namespace, IdentitySecret, err)
	}
	v.version = s.ResourceVersion
	return nil
}

const fieldManager = "weir-agent"
