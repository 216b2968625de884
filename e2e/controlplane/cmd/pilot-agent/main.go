// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pilot-agent is Istio's agent for sidecars and gateways, as a program of its own: it runs beside every pod,
// and without the control plane linked in it holds a fraction of the memory.
package main

import (
	"fmt"
	"os"

	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pilot/cmd/pilot-agent/app"
	istioagent "istio.io/istio/pkg/istio-agent"
	"istio.io/istio/pkg/security"
	"istio.io/istio/security/pkg/nodeagent/sds"
)

func main() {
	newSDS := func(o *security.Options, m security.SecretManager, k *meshconfig.PrivateKeyProvider) istioagent.SDSService {
		return sds.NewServer(o, m, k)
	}
	if err := app.NewRootCommand(newSDS).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
