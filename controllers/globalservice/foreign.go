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

// foreignWrites are what others wrote about the host, told for people, each with its cluster.
type foreignWrites struct {
	edits      []string // in rules of weir's own
	rules      []string // rules of their own that decide over the host
	unweighted []string // clients that reach the host by routes of their own: they stop nothing
}

func (f *foreignWrites) add(more foreignWrites) {
	f.edits = append(f.edits, more.edits...)
	f.rules = append(f.rules, more.rules...)
	f.unweighted = append(f.unweighted, more.unweighted...)
}

// blocking are those beside which weir writes nothing.
func (f *foreignWrites) blocking() []string { return slices.Concat(f.edits, f.rules) }

// problem is what they are to the service; nil where none of them blocks.
func (f *foreignWrites) problem() *problem {
	switch {
	case len(f.edits) > 0:
		return &problem{v1alpha1.ReasonForeignEdit, f.edits[0]}
	case len(f.rules) > 0:
		return &problem{v1alpha1.ReasonForeignRule, f.rules[0]}
	}
	return nil
}

// foreignOf finds what others wrote in one member, as its agent tells.
func foreignOf(m memberView, render istio.Input, rendered istio.Rules, live v1alpha1.RulesPhase) foreignWrites {
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
			out.edits = append(out.edits, fmt.Sprintf("%s %s/%s in %s: %s set %s from %s to %s; delete the object, and weir writes it anew",
				r.GetKind(), r.GetNamespace(), r.GetName(), m.name, strings.Join(e.Managers, ", "), e.Field, e.Ours, e.Theirs))
		}
	}
	for _, c := range istio.Foreign(render, rules) {
		if c.Code.Blocks() {
			out.rules = append(out.rules, inMember(m.name, c.String()))
		} else {
			out.unweighted = append(out.unweighted, inMember(m.name, c.String()))
		}
	}
	return out
}

// remembered are the rules of others in a member that is not heard now: an agent that is away takes none of them away. Of a
// member whose API server is silent too nothing is remembered: nobody could take a rule away there, or write one beside it,
// and its services must be moved off it.
func remembered(m memberView, status v1alpha1.GlobalServiceStatus) foreignWrites {
	var out foreignWrites
	if contactLost(m.cluster) {
		return out
	}
	for _, text := range status.Foreign {
		if strings.HasPrefix(text, inMember(m.name, "")) {
			out.rules = append(out.rules, text)
		}
	}
	return out
}

// inMember says in which member something stands.
func inMember(cluster, what string) string { return cluster + ": " + what }
