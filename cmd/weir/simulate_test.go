// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/weir-io/weir/cli"
)

func TestASimulationNeedsNoClusterAndItsExitCodeTells(t *testing.T) {
	for args, want := range map[string]int{
		"-f ../../config/samples -o json":                        0,
		"-f ../../cli/testdata/manifests/fleet.yaml":             cli.ExitUnplaced,
		"-f ../../cli/testdata/manifests/bad.yaml":               cli.ExitUsage,
		"-f ../../config/samples --without nobody-knows-me":      cli.ExitUsage,
		"-f ../../config/samples --output table --without west1": cli.ExitUsage,
	} {
		out, err := run(t, append([]string{"simulate"}, strings.Fields(args)...)...)
		if got := cli.ExitCode(err); got != want {
			t.Errorf("%s: exit %d, want %d: %v\n%s", args, got, want, err, out)
		}
	}
}
