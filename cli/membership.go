// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/weir-io/weir/controllers/member"
)

// hubAccount is the ServiceAccount in a member by which the hub writes there. The agent's chart takes it over and
// binds its rights.
const hubAccount = "weir-hub"

// tokenPrefix begins the names of the Secrets that hold tokens of hubAccount.
const tokenPrefix = hubAccount + "-token-"

// joinSecret is the Secret in the member from which the agent takes its join token and the hub's authority.
const joinSecret = "weir-join"

// Annotations by which Helm knows the release that an object belongs to.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// membership is what join makes in the member.
type membership struct {
	kube      kubernetes.Interface
	namespace string
}

// account makes the hub's account, where it is missing, and a token of it that nobody has yet: it returns the release that
// the account belongs to, and the token. The account is marked as part of the agent's release, so that Helm takes it over.
func (m *membership) account(ctx context.Context, f joinFlags, id string) (string, []byte, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}}
	if _, err := m.kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", nil, fmt.Errorf("make namespace %s: %w", m.namespace, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name:        hubAccount,
		Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations: map[string]string{releaseName: f.release, releaseNamespace: m.namespace},
	}}
	_, err := m.kube.CoreV1().ServiceAccounts(m.namespace).Create(ctx, account, metav1.CreateOptions{})
	release := f.release
	if apierrors.IsAlreadyExists(err) {
		release, err = m.ownedBy(ctx, f)
	}
	if err != nil {
		return "", nil, fmt.Errorf("make ServiceAccount %s/%s: %w", m.namespace, hubAccount, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: tokenPrefix + id, Labels: map[string]string{member.LabelManaged: member.LabelManagedValue},
			Annotations: map[string]string{corev1.ServiceAccountNameKey: hubAccount},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if _, err := m.kube.CoreV1().Secrets(m.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return "", nil, fmt.Errorf("make Secret %s/%s: %w", m.namespace, secret.Name, err)
	}
	token, err := m.waitToken(ctx, secret.Name)
	return release, token, err
}

// ownedBy returns the release that the account belongs to, which is the one that --release names, if it does.
func (m *membership) ownedBy(ctx context.Context, f joinFlags) (string, error) {
	account, err := m.kube.CoreV1().ServiceAccounts(m.namespace).Get(ctx, hubAccount, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if owner := account.Annotations[releaseName]; owner == f.release || owner != "" && !f.given("release") {
		return owner, nil
	}
	metav1.SetMetaDataAnnotation(&account.ObjectMeta, releaseName, f.release)
	metav1.SetMetaDataAnnotation(&account.ObjectMeta, releaseNamespace, m.namespace)
	metav1.SetMetaDataLabel(&account.ObjectMeta, "app.kubernetes.io/managed-by", "Helm")
	_, err = m.kube.CoreV1().ServiceAccounts(m.namespace).Update(ctx, account, metav1.UpdateOptions{})
	return f.release, err
}

// waitToken waits until the member's controller has filled the Secret.
func (m *membership) waitToken(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := m.kube.CoreV1().Secrets(m.namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(s.Data[corev1.ServiceAccountTokenKey]) > 0 {
			return s.Data[corev1.ServiceAccountTokenKey], nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read Secret %s/%s: %w", m.namespace, name, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("secret %s/%s got no token within 30s: is the member's controller-manager running?", m.namespace, name)
		case <-tick.C:
		}
	}
}

// handOver puts the join token and the hub's authority where the agent looks for them.
func (m *membership) handOver(ctx context.Context, token string, ca []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: joinSecret, Labels: map[string]string{member.LabelManaged: member.LabelManagedValue}},
		Data:       map[string][]byte{"token": []byte(token), "ca.crt": ca},
	}
	_, err := m.kube.CoreV1().Secrets(m.namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = m.kube.CoreV1().Secrets(m.namespace).Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", m.namespace, joinSecret, err)
	}
	return nil
}

// dropOld deletes the tokens of the hub's account that join made before the one with this ID: they end with their Secret.
func (m *membership) dropOld(ctx context.Context, id string) error {
	list, err := m.kube.CoreV1().Secrets(m.namespace).List(ctx, metav1.ListOptions{LabelSelector: member.LabelManaged})
	if err != nil {
		return fmt.Errorf("list the Secrets of namespace %s: %w", m.namespace, err)
	}
	for i := range list.Items {
		s := &list.Items[i]
		if s.Type != corev1.SecretTypeServiceAccountToken || s.Annotations[corev1.ServiceAccountNameKey] != hubAccount || s.Name == tokenPrefix+id {
			continue
		}
		if err := m.kube.CoreV1().Secrets(m.namespace).Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Secret %s/%s: %w", m.namespace, s.Name, err)
		}
	}
	return nil
}
