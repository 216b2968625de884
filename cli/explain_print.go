// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
)

func (w *explainedWorkload) write(out io.Writer) error {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	say("\nworkload %s, %s wanted, %d without a place", plain(w.Workload, 2*longestName), many(w.Wanted, "replica"), w.Unplaced)
	if w.Decision != nil {
		say("  decided: %s ago because of %s, for %s; remembered: %s (kubectl -n %s describe rb %s)",
			seconds(w.Decision.AgeSeconds), plain(w.Decision.Trigger, 64), many(w.Decision.Wanted, "replica"), many(w.Decision.Remembered, "decision"), namespaceOf(w.Binding), nameOf(w.Binding))
	}
	say("  prefers: %s", plain(preferenceLine(w.Preference), longestText))
	if len(w.Services) > 0 {
		say("  serves:  %s", plain(strings.Join(w.Services, ", "), longestText))
	}
	for _, n := range plainAll(w.Notes) {
		say("  note:    %s", n)
	}
	for _, c := range w.Conditions {
		say("  %s: %s (%s) %s", plain(c.Type, 64), c.Status, plain(c.Reason, 64), plain(c.Message, longestText))
	}
	w.printWaiting(say)
	t := newTable(out)
	t.row()
	t.row("CLUSTER", "DECIDED", "PLANNED", "APPLIED", "READY", "COPY", "OWNER", "HEALTHY", "DRAIN", "VIEW DECIDED", "VIEW NOW", "AGE")
	for i := range w.Clusters {
		w.Clusters[i].row(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range w.Clusters {
		w.Clusters[i].why(say)
	}
	return nil
}

// printWaiting says what the shift waits for, and what is to be noticed of it.
func (w *explainedWorkload) printWaiting(say func(string, ...any)) {
	for _, b := range w.Waiting {
		say("  waiting: %s [%s]", plain(b.Message, longestText), plain(b.Code, 64))
	}
	for _, n := range w.Notices {
		say("  note:    %s [%s]", plain(n.Message, longestText), plain(n.Code, 64))
	}
	switch {
	case len(w.Waiting) > 0:
	default:
		say("  waiting: %s", goesOn(plain(w.Step, 64)))
	}
}

// goesOn says where a move is that waits for nothing.
func goesOn(step string) string {
	switch step {
	case "":
		return "for nothing, and nothing moves"
	case "Done":
		return "for nothing (Done)"
	}
	return "for nothing; the step " + step + " is under way"
}

func (c *explainedCluster) row(t *table) {
	versions := []any{"-", "-", "-"}
	if v := c.View; v != nil {
		age := "never"
		if v.AgeSeconds != nil {
			age = seconds(*v.AgeSeconds)
		}
		now := "Unknown"
		if v.State == stateKnown {
			now = strconv.FormatInt(v.Now, 10)
		}
		decided := "-"
		if v.Decided > 0 {
			decided = strconv.FormatInt(v.Decided, 10)
		}
		versions = []any{decided, now, age}
	}
	state := orDash(plain(c.Sync, 32))
	if c.LastSeen != nil {
		state = "?"
	}
	cells := []any{plain(c.Name, longestName), c.Decided, c.Planned, number(c.Applied, c.LastSeen), number(c.Ready, c.LastSeen), state, orDash(c.Owner)}
	if !c.Registered {
		cells = append(cells, "not registered")
	} else {
		cells = append(cells, plain(c.Healthy, 128))
	}
	t.row(append(append(cells, orDash(plain(c.Drain, 32))), versions...)...)
}

// number is what is there now: nothing where there is no copy, and ? where nobody sees it.
func number(n *int32, last *explainSeen) string {
	switch {
	case n != nil:
		return strconv.Itoa(int(*n))
	case last != nil:
		return "?"
	}
	return "-"
}

// why says of one member all that the table has no place for.
func (c *explainedCluster) why(say func(string, ...any)) {
	name := plain(c.Name, longestName)
	if l := c.LastSeen; l != nil {
		when := "at a time that is not known"
		if l.AgeSeconds != nil {
			when = seconds(*l.AgeSeconds) + " ago"
		}
		say("  %s: nobody sees it now; %s it had %d applied and %d ready", name, when, l.Applied, l.Ready)
	}
	if c.Pending != nil && *c.Pending > 0 {
		say("  %s: %s without a node", name, many(*c.Pending, "pod"))
	}
	if c.Rollout != "" && c.Rollout != string(v1alpha1.RolloutComplete) {
		say("  %s: its rollout is %s", name, plain(c.Rollout, 32))
	}
	if c.Trouble != "" {
		say("  %s: %s", name, plain(c.Trouble, longestText))
	}
	if len(c.Overrides) > 0 {
		say("  %s: overridden are %s", name, plain(strings.Join(c.Overrides, ", "), longestText))
	}
	for _, r := range c.Reasons {
		word := ""
		if c.Decided == 0 {
			word = "left out, "
		}
		say("  %s: %s%s: %s", name, word, plain(r.Code, 64), plain(r.Message, longestText))
	}
}

func seconds(n int64) string { return (time.Duration(n) * time.Second).String() }

func namespaceOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return plain(namespace, longestName)
}

func nameOf(key string) string {
	_, name, _ := strings.Cut(key, "/")
	return plain(name, longestName)
}
