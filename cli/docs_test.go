// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/unjoin"
)

// guide is the document that explains every verb.
const guide = "docs/operations.md"

// section is the part of the guide under a heading of the second level.
func section(t *testing.T, heading string) string {
	t.Helper()
	raw, err := os.ReadFile("../" + guide)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(raw), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", guide, heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

var (
	verbCell = regexp.MustCompile("^`([a-z]+)[^`]*`$")
	flagText = regexp.MustCompile("`--([a-z-]+)`")
)

// said reads the table of verbs: the flags of each.
func said(text string) map[string][]string {
	out := map[string][]string{}
	verb := ""
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 4 {
			continue
		}
		if m := verbCell.FindStringSubmatch(strings.TrimSpace(cells[0])); m != nil {
			verb = m[1]
			out[verb] = nil
		}
		for _, m := range flagText.FindAllStringSubmatch(cells[1], -1) {
			out[verb] = append(out[verb], m[1])
		}
	}
	return out
}

func TestEveryVerbIsInTheOperationsGuideWithItsFlagsAndAnExample(t *testing.T) {
	text := section(t, "kubectl weir")
	have := said(text)
	root := New()
	for _, cmd := range root.Commands() {
		name := cmd.Name()
		if !cmd.IsAvailableCommand() || name == "completion" {
			continue
		}
		flags, ok := have[name]
		delete(have, name)
		if !ok {
			t.Errorf("%s, under \"kubectl weir\": add a row to the table of verbs: | `%s` | flags | default | meaning |", guide, cmd.Use)
			continue
		}
		if !regexp.MustCompile(`(?m)^kubectl weir ` + name + `\b`).MatchString(text) {
			t.Errorf("%s, under \"kubectl weir\": add an example, a line of a code block that begins with: kubectl weir %s", guide, name)
		}
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			at := slices.Index(flags, f.Name)
			switch {
			case at >= 0:
				flags = slices.Delete(flags, at, at+1)
			case f.Name != "help":
				t.Errorf("%s: flag --%s of %s is missing: add the row | | `--%s` | `%s` | %s |", guide, f.Name, name, f.Name, f.DefValue, f.Usage)
			}
		})
		if len(flags) > 0 {
			t.Errorf("%s: %s has no flag %q: take it out", guide, name, flags)
		}
	}
	for name := range have {
		t.Errorf("%s: there is no verb %q: take its row out", guide, name)
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(text, "`--"+f.Name+"`") {
			t.Errorf("%s: flag --%s of all verbs is missing", guide, f.Name)
		}
	})
}

// What people copy from a document has to work.
func TestEveryCommandInTheDocumentsIsOne(t *testing.T) {
	files, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\s*kubectl weir ([^#\n]+)`)
	seen := 0
	for _, file := range append(files, "../README.md", "../charts/weir/templates/NOTES.txt") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(raw), -1) {
			seen++
			cmd, args, err := New().Find(strings.Fields(m[1]))
			if err == nil {
				err = cmd.ParseFlags(args)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil || !cmd.HasParent() {
				t.Errorf("%s: kubectl weir %s: %v", file, m[1], err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands were looked at", seen)
	}
}

// What unjoin answers is looked up there, and so are the steps.
func TestEveryHoldAndEveryStepOfUnjoinIsInTheOperationsGuide(t *testing.T) {
	text := section(t, "kubectl weir")
	for _, code := range []string{
		unjoin.NotHeard, unjoin.NotDrained, unjoin.Draining, unjoin.NotSafe, unjoin.TrafficRemains, unjoin.PodsRemain, unjoin.ReplicasRemain, unjoin.StillHeard,
		string(v1alpha1.LeavingHeld), string(v1alpha1.LeavingTraffic), string(v1alpha1.LeavingCopies), string(v1alpha1.LeavingRoutes),
		string(v1alpha1.LeavingRules), string(v1alpha1.LeavingDrains), string(v1alpha1.LeavingDone),
	} {
		if !strings.Contains(text, "`"+code+"`") {
			t.Errorf("%s: %s is missing", guide, code)
		}
	}
}

// Exit codes are what scripts rest on.
func TestEveryExitCodeIsInTheOperationsGuide(t *testing.T) {
	text := section(t, "kubectl weir")
	for _, code := range []string{"0", "1", "2", "3", "4"} {
		if !strings.Contains(text, "\n| "+code+" | ") {
			t.Errorf("%s: exit code %s is missing", guide, code)
		}
	}
}
