// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
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

	exists  bool
	version string // of the Secret as it was last seen: who writes over another's change is refused
}

var _ stream.Vault = (*Vault)(nil)

// identityKey is the key of IdentitySecret under which the identity stands, as JSON.
const identityKey = "identity.json"

// Load returns the identity; the zero one when there is none.
func (v *Vault) Load(ctx context.Context) (stream.Identity, error) {
	var id stream.Identity
	s, err := v.Client.CoreV1().Secrets(v.Namespace).Get(ctx, IdentitySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		v.exists, v.version = false, ""
		return id, nil
	}
	if err != nil {
		return id, fmt.Errorf("read Secret %s/%s: %w", v.Namespace, IdentitySecret, err)
	}
	v.exists, v.version = true, s.ResourceVersion
	if err := json.Unmarshal(s.Data[identityKey], &id); err != nil {
		// What the parser says may quote the key: it is not passed on.
		return id, fmt.Errorf("key %q of Secret %s/%s does not parse: delete the Secret and join the cluster anew", identityKey, v.Namespace, IdentitySecret)
	}
	return id, nil
}

// Save replaces the identity as a whole.
func (v *Vault) Save(ctx context.Context, id stream.Identity) error {
	raw, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", v.Namespace, IdentitySecret, err)
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: IdentitySecret, ResourceVersion: v.version},
		Data:       map[string][]byte{identityKey: raw},
	}
	if !v.exists {
		s, err = v.Client.CoreV1().Secrets(v.Namespace).Create(ctx, s, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		s, err = v.Client.CoreV1().Secrets(v.Namespace).Update(ctx, s, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", v.Namespace, IdentitySecret, err)
	}
	v.exists, v.version = true, s.ResourceVersion
	return nil
}

const fieldManager = "weir-agent"
