// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pilot-discovery is istiod as a program of its own, as it runs in pods: linked with nothing else, so that its
// metrics and its memory are those of the real one.
package main

import (
	"fmt"
	"os"

	"istio.io/istio/pilot/cmd/pilot-discovery/app"
)

func main() {
	if err := app.NewRootCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
