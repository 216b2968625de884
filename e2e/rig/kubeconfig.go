// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// access is one way into one cluster.
type access struct {
	name, server, token string
	ca                  []byte
}

// kubeconfig returns a file for one cluster and a bearer of a token.
func kubeconfig(name, server string, ca []byte, token string) string {
	return kubeconfigOf([]access{{name: name, server: server, ca: ca, token: token}})
}

// kubeconfigOf returns a file with a context for each cluster; the first is the current one.
func kubeconfigOf(all []access) string {
	var clusters, users, contexts strings.Builder
	for _, a := range all {
		fmt.Fprintf(&clusters, "- name: %s\n  cluster:\n    server: %s\n    certificate-authority-data: %s\n",
			a.name, a.server, base64.StdEncoding.EncodeToString(a.ca))
		fmt.Fprintf(&users, "- name: %s\n  user:\n    token: %s\n", a.name, a.token)
		fmt.Fprintf(&contexts, "- name: %s\n  context: {cluster: %s, user: %s}\n", a.name, a.name, a.name)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: %s\nclusters:\n%susers:\n%scontexts:\n%s",
		all[0].name, clusters.String(), users.String(), contexts.String())
}
