// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command lint is golangci-lint at a pinned version, with the Kubernetes API linter built in.
//
// It is a module of its own because golangci-lint's dependencies must not meet the product's, nor those of the
// generators. `make lint` builds it once per version into a cache: the build takes minutes, a run takes seconds.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	_ "sigs.k8s.io/kube-api-linter" // Registers the linter "kubeapilinter".
)

func main() {
	if err := commands.Execute(buildInfo()); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(exitcodes.Failure)
	}
}

// buildInfo names the golangci-lint version that this program was linked with; golangci-lint keys its own cache by it.
func buildInfo() commands.BuildInfo {
	info := commands.BuildInfo{GoVersion: runtime.Version(), Version: "unknown", Commit: "none", Date: "none"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, dep := range build.Deps {
		if dep.Path == "github.com/golangci/golangci-lint/v2" {
			info.Version = dep.Version
		}
	}
	return info
}
