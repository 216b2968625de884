// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// AuthoritySecret is the name of the Secret that holds the hub's authority. Whoever may read it may be any member.
const AuthoritySecret = "weir-authority"

const (
	keyCertificates = "ca.crt"
	keyKeys         = "ca.key"
)

// Authority is a stream.AuthorityStore over a Secret. It is for one goroutine.
type Authority struct {
	Client    kubernetes.Interface
	Namespace string

	version string
}

// Load reads the Secret; both values are empty when there is none.
func (a *Authority) Load(ctx context.Context) (certificates, keys []byte, err error) {
	s, err := a.Client.CoreV1().Secrets(a.Namespace).Get(ctx, AuthoritySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		a.version = ""
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read Secret %s/%s: %w", a.Namespace, AuthoritySecret, err)
	}
	a.version = s.ResourceVersion
	return s.Data[keyCertificates], s.Data[keyKeys], nil
}

// Save writes the Secret, and fails when somebody else has since the last Load.
func (a *Authority) Save(ctx context.Context, certificates, keys []byte) error {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: AuthoritySecret, ResourceVersion: a.version},
		Data:       map[string][]byte{keyCertificates: certificates, keyKeys: keys},
	}
	var err error
	if a.version == "" {
		s, err = a.Client.CoreV1().Secrets(a.Namespace).Create(ctx, s, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		s, err = a.Client.CoreV1().Secrets(a.Namespace).Update(ctx, s, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", a.Namespace, AuthoritySecret, err)
	}
	a.version = s.ResourceVersion
	return nil
}

const fieldManager = "weir-identity"
