// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
)

// What became of a Cluster.
const (
	registrationNew       = "New"
	registrationUpdated   = "Updated"
	registrationUnchanged = "Unchanged"
)

// registered returns the Cluster of that name, or nil. It keeps a second cluster from taking a name.
func (h *hub) registered(ctx context.Context, name string, ca []byte) (*v1alpha1.Cluster, error) {
	if err := v1alpha1.ValidateCABundle(ca); err != nil {
		return nil, fmt.Errorf("the member's kubeconfig: %w", err)
	}
	var have v1alpha1.Cluster
	err := h.Get(ctx, types.NamespacedName{Name: name}, &have)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer.
	}
	if err != nil {
		return nil, fmt.Errorf("read cluster %q: %w", name, err)
	}
	if !have.DeletionTimestamp.IsZero() {
		return nil, fmt.Errorf("cluster %q is on its way out: wait until it is gone (kubectl weir unjoin %s waits), then join again", name, name)
	}
	if !bytes.Equal(bytes.TrimSpace(have.Spec.CABundle), bytes.TrimSpace(ca)) {
		return nil, fmt.Errorf("cluster %q is registered already with another CA (%s): give this one another name, or delete the Cluster object first",
			name, have.Spec.APIEndpoint)
	}
	return &have, nil
}

// registration is the Cluster as it shall be: as the flags say that were given, else as it is, else as the kubeconfig says.
func (f joinFlags) registration(name string, config *rest.Config, have *v1alpha1.Cluster) *v1alpha1.Cluster {
	want := &v1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ClusterSpec{APIEndpoint: config.Host, CABundle: config.CAData},
	}
	if have != nil {
		want = have.DeepCopy()
	}
	for flag, field := range map[string]struct {
		to    *string
		value string
	}{
		"api-endpoint":     {&want.Spec.APIEndpoint, first(f.apiEndpoint, config.Host)},
		"region":           {&want.Spec.Region, f.region},
		"zone":             {&want.Spec.Zone, f.zone},
		"istio-cluster-id": {&want.Spec.IstioClusterID, f.istioID},
	} {
		if f.given(flag) {
			*field.to = field.value
		}
	}
	want.Spec.CredentialsSecretRef = &v1alpha1.SecretReference{Name: "weir-member-" + name}
	return want
}

// differences names the fields that join may change, with what they said and say.
func differences(have, want *v1alpha1.ClusterSpec) []string {
	secret := func(s *v1alpha1.ClusterSpec) string {
		if s.CredentialsSecretRef == nil {
			return ""
		}
		return s.CredentialsSecretRef.Name
	}
	var out []string
	for _, f := range []struct{ name, have, want string }{
		{"apiEndpoint", have.APIEndpoint, want.APIEndpoint},
		{"region", have.Region, want.Region},
		{"zone", have.Zone, want.Zone},
		{"istioClusterID", have.IstioClusterID, want.IstioClusterID},
		{"credentialsSecretRef", secret(have), secret(want)},
	} {
		if f.have != f.want {
			out = append(out, fmt.Sprintf("%s from %q to %q", f.name, f.have, f.want))
		}
	}
	return out
}

// keep stores the member's credentials, then its Cluster. It returns what became of the Cluster, and what changed in it.
func (h *hub) keep(ctx context.Context, namespace string, have, want *v1alpha1.Cluster, token []byte) (string, []string, error) {
	secret, err := credentials(namespace, want, token)
	if err == nil {
		err = h.put(ctx, secret)
	}
	if err != nil {
		return "", nil, fmt.Errorf("store the credentials of cluster %q: %w", want.Name, err)
	}
	if have == nil {
		if err := h.Create(ctx, want); err != nil {
			return "", nil, fmt.Errorf("register cluster %q: %w", want.Name, err)
		}
		return registrationNew, nil, nil
	}
	changed := differences(&have.Spec, &want.Spec)
	if len(changed) == 0 {
		return registrationUnchanged, nil, nil
	}
	if err := h.Patch(ctx, want, client.MergeFrom(have)); err != nil {
		return "", nil, fmt.Errorf("change cluster %q: %w", want.Name, err)
	}
	return registrationUpdated, changed, nil
}

// credentials is the Secret by which the hub is let in by the member.
func credentials(namespace string, cluster *v1alpha1.Cluster, token []byte) (*corev1.Secret, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster.Name] = &clientcmdapi.Cluster{Server: cluster.Spec.APIEndpoint, CertificateAuthorityData: cluster.Spec.CABundle}
	config.AuthInfos[cluster.Name] = &clientcmdapi.AuthInfo{Token: string(token)}
	config.Contexts[cluster.Name] = &clientcmdapi.Context{Cluster: cluster.Name, AuthInfo: cluster.Name}
	config.CurrentContext = cluster.Name
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster.Spec.CredentialsSecretRef.Name},
		Data:       map[string][]byte{member.KubeconfigKey: raw},
	}, nil
}

// put makes a Secret, or replaces what is in it.
func (h *hub) put(ctx context.Context, secret *corev1.Secret) error {
	err := h.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var have corev1.Secret
	if err := h.Get(ctx, client.ObjectKeyFromObject(secret), &have); err != nil {
		return err
	}
	before := have.DeepCopy()
	have.Data = secret.Data
	return h.Patch(ctx, &have, client.MergeFrom(before))
}
