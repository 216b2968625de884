// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// What istiod wants to see: a token of an account in its own namespace, with its own audience.
const (
	proverAccount = "weir-prover"
	audience      = "istio-ca"
	rootConfigMap = "istio-ca-root-cert"
	rootKey       = "root-cert.pem"
	tokenLife     = time.Hour
)

// Credentials give the prover its tokens and the mesh's root. It is safe for concurrent use.
type Credentials struct {
	Client    kubernetes.Interface
	Namespace string // istiod's

	mu     sync.Mutex
	token  string
	renews time.Time
}

// Token returns a token that is good for at least a third of its life.
func (c *Credentials) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && time.Now().Before(c.renews) {
		return c.token, nil
	}
	seconds := int64(tokenLife / time.Second)
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds}}
	answer, err := c.Client.CoreV1().ServiceAccounts(c.Namespace).CreateToken(ctx, proverAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make a token of ServiceAccount %s/%s: %w", c.Namespace, proverAccount, err)
	}
	c.token = answer.Status.Token
	c.renews = time.Now().Add(time.Until(answer.Status.ExpirationTimestamp.Time) * 2 / 3)
	return c.token, nil
}

// RootCA returns the mesh's root certificates as PEM.
func (c *Credentials) RootCA(ctx context.Context) ([]byte, error) {
	cm, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, rootConfigMap, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", c.Namespace, rootConfigMap, err)
	}
	return []byte(cm.Data[rootKey]), nil
}
