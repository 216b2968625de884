// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestHelpGolden holds what each verb says of itself: people read it before they trust the command.
func TestHelpGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/help", func(t *testing.T, path string) {
		t.Helper()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			cmd := New()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetArgs(append(strings.Fields(d.Input), "--help"))
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				return err.Error() + "\n"
			}
			return out.String()
		})
	})
}

func TestAWrongCommandLineEndsWithTwoAndAsksNobody(t *testing.T) {
	cases := map[string]struct {
		args string
		says string
	}{
		"no cluster":         {"drain", "drain takes one cluster; see kubectl weir drain --help"},
		"two clusters":       {"undrain c1 c2", "undrain takes one cluster"},
		"no member":          {"join", "join takes the name of the member"},
		"an argument":        {"check c1", "check takes no argument"},
		"two services":       {"status a/b c/d", "status takes one service at most"},
		"no such flag":       {"drain c2 --now", "--now"},
		"no such verb":       {"drian c2", `"drian"`},
		"no such output":     {"status -o yaml", `--output "yaml": want text or json`},
		"no time":            {"drain c2 --timeout soon", "--timeout"},
		"a time that is not": {"drain c2 --timeout -1s", "--timeout -1s"},
		"no patience":        {"drain c2 --proxy-timeout -1s", "--proxy-timeout -1s"},
		"no member named":    {"join c2", "--member-context or --member-kubeconfig"},
		"no life":            {"join c2 --member-context x --token-ttl 0s", "--token-ttl 0s"},
		"no kind":            {"explain shop/api", "explain takes a kind and NAMESPACE/NAME"},
		"no such kind":       {"explain pod shop/api", `explain knows no kind "pod": give fdep, rb or gsvc`},
		"no namespace":       {"explain fdep api", "NAMESPACE/NAME"},
		"nothing to let go":  {"unjoin", "unjoin takes one cluster"},
		"a time before now":  {"unjoin c2 --timeout -1s", "--timeout -1s"},
		"a table of one":     {"top c1", "top takes no argument"},
		"two documents":      {"join c2 --member-context x --values - -o json", "--values -"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			r := s.run(strings.Fields(c.args)...)
			r.want(t, ExitUsage, c.says)
			if r.out != "" || len(r.hubWrote) > 0 {
				t.Errorf("it printed %q and wrote %v", r.out, r.hubWrote)
			}
		})
	}
}

func TestWithoutAVerbTheHelpIsShown(t *testing.T) {
	newShell(t).run().want(t, 0, "Available Commands", "kubectl weir")
}

func TestTheExitCodeSurvivesWrapping(t *testing.T) {
	cases := map[string]struct {
		err  error
		code int
	}{
		"none":    {nil, 0},
		"plain":   {errors.New("x"), 1},
		"exit":    {&ExitError{ExitWaiting, errors.New("x")}, 3},
		"wrapped": {fmt.Errorf("y: %w", &ExitError{ExitFindings, errors.New("x")}), 4},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ExitCode(c.err); got != c.code {
				t.Errorf("got %d", got)
			}
		})
	}
	inner := errors.New("x")
	if e := (&ExitError{ExitUsage, inner}); !errors.Is(e, inner) || e.Error() != "x" {
		t.Errorf("got %v", e)
	}
}

func TestAHubThatCannotBeReachedIsSaidToBeTheHub(t *testing.T) {
	s := newShell(t)
	s.file("hub", "no kubeconfig: [")
	s.run("status").want(t, 1, "read the kubeconfig of the hub")
	s = newShell(t)
	s.hub.Stop()
	s.run("status").want(t, 1, "list clusters (is weir installed on this cluster?)")
}
