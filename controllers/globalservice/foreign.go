// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/istio"
)

// foreignWrite is something that somebody else wrote about the host, told for people. It begins with its cluster.
type foreignWrite struct {
	text string
	old  bool // its member is not heard now, and told of it before
}

// foreignWrites are all of a service.
type foreignWrites struct {
	edits      []foreignWrite // in rules of weir's own
	rules      []foreignWrite // rules of their own that decide over the host
	unweighted []string       // clients that reach the host by routes of their own: they stop nothing
}

// editOf begins, behind the cluster, what is told of an edit. By it one is told from a rule of somebody's own when a status is
// all that is left of both.
const editOf = "weir's own "

// editText tells of an edit.
func editText(cluster, rule string, e istio.Edit) string {
	return inMember(cluster, fmt.Sprintf("%s%s: %s set %s from %s to %s; delete the object, and weir writes it anew",
		editOf, rule, strings.Join(e.Managers, ", "), e.Field, e.Ours, e.Theirs))
}

// inMember says in which member something stands.
func inMember(cluster, what string) string { return cluster + ": " + what }

// foreignIn are what others wrote in one member: as its agent tells or, where it has not told yet since the hub began, as the
// status remembers. An agent that is away takes none of it away. Of a member whose API server is silent too nothing counts:
// nobody could take a rule away there, or write one beside it, and its services must be moved off it.
func foreignIn(m memberView, render istio.Input, rendered istio.Rules, spec v1alpha1.GlobalServiceSpec, status v1alpha1.GlobalServiceStatus) foreignWrites {
	switch {
	case !m.seen && contactLost(m.cluster):
		return foreignWrites{}
	case m.tells():
		return toldBy(m, render, rendered, spec.Phase)
	}
	return rememberedOf(m, status)
}

// tells says whether it is known what a member's agent has to say of others' rules: its Service with them, or that it has none.
// An agent that was heard, and has not told everything yet, says nothing.
func (m memberView) tells() bool { return m.facts != nil || m.standIn != nil || m.whole }

// toldBy finds what others wrote in one member, as its agent tells, or told last.
func toldBy(m memberView, render istio.Input, rendered istio.Rules, live v1alpha1.RulesPhase) foreignWrites {
	var out foreignWrites
	var rules []istio.Rule
	ours := map[string]map[string]any{}
	for _, o := range rulesOf(rendered, live) {
		ours[ruleKey(o)] = o
	}
	for _, r := range m.rules() {
		var object map[string]any
		if json.Unmarshal(r.GetObject(), &object) != nil {
			continue
		}
		rule, err := istio.ParseRule(object)
		if err != nil {
			continue
		}
		rules = append(rules, rule)
		want := ours[ruleKey(object)]
		if want == nil {
			continue
		}
		for _, e := range istio.Drift(want, object) {
			if len(e.Managers) == 0 {
				continue // a write of our own that the agent has not seen yet
			}
			out.edits = append(out.edits, foreignWrite{editText(m.name, ruleKey(object), e), !m.seen})
		}
	}
	for _, c := range istio.Foreign(render, rules) {
		if c.Code.Blocks() {
			out.rules = append(out.rules, foreignWrite{inMember(m.name, c.String()), !m.seen})
		} else {
			out.unweighted = append(out.unweighted, inMember(m.name, c.String()))
		}
	}
	return out
}

// rememberedOf are those in a member that a status names.
func rememberedOf(m memberView, status v1alpha1.GlobalServiceStatus) foreignWrites {
	var out foreignWrites
	for _, text := range status.Foreign {
		what, its := strings.CutPrefix(text, inMember(m.name, ""))
		switch {
		case !its:
		case strings.HasPrefix(what, editOf):
			out.edits = append(out.edits, foreignWrite{text, true})
		default:
			out.rules = append(out.rules, foreignWrite{text, true})
		}
	}
	return out
}

func (f *foreignWrites) add(more foreignWrites) {
	f.edits = append(f.edits, more.edits...)
	f.rules = append(f.rules, more.rules...)
	f.unweighted = append(f.unweighted, more.unweighted...)
}

// texts are those beside which weir writes nothing: one of each member before a second one of any, since a status names so
// many only, and is all that a hub remembers which begins anew.
func (f *foreignWrites) texts() []string {
	var first, more []string
	have := map[string]bool{}
	for _, w := range slices.Concat(f.edits, f.rules) {
		cluster, _, _ := strings.Cut(w.text, ": ")
		if have[cluster] {
			more = append(more, w.text)
		} else {
			first = append(first, w.text)
		}
		have[cluster] = true
	}
	return append(first, more...)
}

// problem is what they are to the service; nil where none of them blocks.
func (f *foreignWrites) problem() *problem {
	switch {
	case len(f.edits) > 0:
		return &problem{v1alpha1.ReasonForeignEdit, f.edits[0].message()}
	case len(f.rules) > 0:
		return &problem{v1alpha1.ReasonForeignRule, f.rules[0].message()}
	}
	return nil
}

func (w foreignWrite) message() string {
	if !w.old {
		return w.text
	}
	return w.text + " That was so when this cluster's agent was heard last; it counts until the agent is heard again, or the cluster is lost."
}
