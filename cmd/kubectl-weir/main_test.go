// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asProgram makes the test's own binary behave as the program.
const asProgram = "KUBECTL_WEIR_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheProgramEndsWithTheCodeOfItsCommandAndOneLineOfError(t *testing.T) {
	cases := map[string]struct {
		args []string
		code int
		says string
	}{
		"help":          {[]string{"--help"}, 0, "kubectl weir moves traffic"},
		"no such verb":  {[]string{"drian"}, 2, `error: there is no verb "drian"`},
		"no kubeconfig": {[]string{"--kubeconfig", "/no/such", "status"}, 1, "error: read the kubeconfig of the hub"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], c.args...)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			out, err := cmd.CombinedOutput()
			code := 0
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != c.code || !strings.Contains(string(out), c.says) {
				t.Errorf("code %d, want %d; said\n%s", code, c.code, out)
			}
			if c.code != 0 && strings.Count(string(out), "\n") != 1 {
				t.Errorf("more than one line:\n%s", out)
			}
		})
	}
}
