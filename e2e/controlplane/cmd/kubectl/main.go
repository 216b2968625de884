// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl is Kubernetes' command line, built at the version of the rig's API servers.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		os.Exit(1)
	}
}
