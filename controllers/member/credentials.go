// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/weir-io/weir/api/v1alpha1"
)

// restConfig says how to reach a member: where to and whom to trust by the Cluster's spec, whom to be by the kubeconfig.
// Of the kubeconfig nothing else is taken. Who may write the Secret is not by that allowed to run programs on the hub,
// to read its files, or to send it to a third place; what asks for that is refused, so that nobody wonders why it does
// nothing.
func restConfig(cluster *v1alpha1.Cluster, secret *corev1.Secret) (*rest.Config, error) {
	raw := secret.Data[KubeconfigKey]
	if len(raw) == 0 {
		return nil, fmt.Errorf("cluster %q: %w: Secret %s/%s has no key %q", cluster.Name, ErrNoCredentials, secret.Namespace, secret.Name, KubeconfigKey)
	}
	// Parsed and no more: what turns a kubeconfig into a client would read the files that it names.
	config, err := clientcmd.Load(raw)
	if err != nil || config.Contexts[config.CurrentContext] == nil {
		// The error of the parser may quote the file, which holds a token: it is not passed on.
		return nil, fmt.Errorf("cluster %q: %w: key %q of Secret %s/%s is no kubeconfig with a current context",
			cluster.Name, ErrNoCredentials, KubeconfigKey, secret.Namespace, secret.Name)
	}
	current := config.Contexts[config.CurrentContext]
	place, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	if place == nil {
		place = clientcmdapi.NewCluster()
	}
	if user == nil {
		user = clientcmdapi.NewAuthInfo()
	}
	err = refuseUser(user)
	if err == nil {
		err = refusePlace(place)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w: the kubeconfig in Secret %s/%s %w", cluster.Name, ErrNoCredentials, secret.Namespace, secret.Name, err)
	}
	return &rest.Config{
		Host: cluster.Spec.APIEndpoint, BearerToken: user.Token, Username: user.Username, Password: user.Password,
		TLSClientConfig: rest.TLSClientConfig{CAData: cluster.Spec.CABundle, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData},
		Timeout:         requestTimeout, QPS: requestRate, Burst: requestBurst, UserAgent: "weir-hub",
	}, nil
}

// refuseUser says what of a user the hub does not do.
func refuseUser(user *clientcmdapi.AuthInfo) error {
	switch {
	case user.Exec != nil:
		return errors.New("runs a program for its credentials (exec): use a token or a client certificate")
	case user.AuthProvider != nil:
		return errors.New("uses an auth provider (auth-provider): use a token or a client certificate")
	case user.TokenFile != "" || user.ClientCertificate != "" || user.ClientKey != "":
		return errors.New("names files (tokenFile, client-certificate, client-key): put the data itself into it")
	case user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0:
		return errors.New("acts as somebody else (as): use the credentials of the account itself")
	case user.Token == "" && len(user.ClientCertificateData) == 0 && user.Username == "":
		return errors.New("has a user without credentials: put a token or a client certificate into it")
	}
	return nil
}

// refusePlace says what of a cluster would lead elsewhere than spec.apiEndpoint, or to somebody else. Its server, CA and
// insecure-skip-tls-verify need no refusal: the spec has its own.
func refusePlace(place *clientcmdapi.Cluster) error {
	switch {
	case place.ProxyURL != "":
		return errors.New("names a proxy (proxy-url): the hub dials spec.apiEndpoint and nothing else; make that an address which the hub reaches")
	case place.TLSServerName != "":
		return errors.New("expects a certificate of another name (tls-server-name): make spec.apiEndpoint a name that is in the API server's certificate")
	case place.CertificateAuthority != "":
		return errors.New("names files (certificate-authority): put the data itself into spec.caBundle")
	}
	return nil
}
