// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
)

// ruleBook is all rules of a member, read once and asked for each Service.
type ruleBook struct {
	domain, systemNamespace, rootNamespace string

	parsed []istio.Rule
	wire   map[ruleKey]*pb.Rule
	// delegates says which VirtualServices each one hands requests to.
	delegates map[ruleKey][]ruleKey
	// outlined are the rules that were too large to be sent whole, sorted.
	outlined []ruleKey

	// choices remembers answers: the rules of a member change more seldom than its pods.
	choices map[types.NamespacedName]choice
}

type choice struct {
	rules   []*pb.Rule
	leftOut int
}

// ruleKey names a rule.
type ruleKey struct{ kind, namespace, name string }

func (k ruleKey) String() string { return k.kind + " " + k.namespace + "/" + k.name }

func compareKeys(a, b ruleKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

func keyOf(r istio.Rule) ruleKey { return ruleKey{r.Kind, r.Namespace, r.Name} }

// newRuleBook reads the rules of a member. An object that cannot be read as a rule has no kind or no name, which no API
// server stores; it is left out.
func newRuleBook(x *index) *ruleBook {
	b := &ruleBook{
		domain:          x.domain(),
		systemNamespace: x.istioNamespace,
		rootNamespace:   x.root(),
		wire:            map[ruleKey]*pb.Rule{},
		delegates:       map[ruleKey][]ruleKey{},
		choices:         map[types.NamespacedName]choice{},
	}
	for _, u := range x.rules {
		parsed, err := istio.ParseRule(u.Object)
		if err != nil {
			continue
		}
		k := keyOf(parsed)
		rule, whole := wireRule(u)
		if !whole {
			b.outlined = append(b.outlined, k)
		}
		b.parsed = append(b.parsed, parsed)
		b.wire[k] = rule
		b.delegates[k] = delegatesOf(u, k)
	}
	slices.SortFunc(b.outlined, compareKeys)
	return b
}

// fits says whether a book that holds the member's rules reads them as the member does now.
func (b *ruleBook) fits(x *index) bool { return b.domain == x.domain() && b.rootNamespace == x.root() }

// wireRule makes of an object what is sent. Of one that is too large only the outline goes, by which the hub still knows
// which hosts it covers.
func wireRule(u *unstructured.Unstructured) (rule *pb.Rule, whole bool) {
	out := &pb.Rule{
		ApiVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
		ResourceVersion: u.GetResourceVersion(),
	}
	object, err := json.Marshal(u.Object)
	if err == nil && len(object) <= maxRuleBytes {
		out.Object = object
		return out, true
	}
	object, err = json.Marshal(outline(u, outlineFields...))
	if err != nil || len(object) > maxRuleBytes {
		object, _ = json.Marshal(outline(u)) // Strings alone: it cannot fail, and is small.
	}
	out.Object = object
	return out, false
}

// outlineFields are those of a spec that tell which hosts a rule covers and for whom.
var outlineFields = []string{"hosts", "host", "gateways", "exportTo", "workloadSelector", "parentRefs", "hostnames"}

func outline(u *unstructured.Unstructured, fields ...string) map[string]any {
	spec := map[string]any{}
	from, _ := u.Object["spec"].(map[string]any)
	for _, f := range fields {
		if v, ok := from[f]; ok {
			spec[f] = v
		}
	}
	meta := map[string]any{"name": u.GetName(), "namespace": u.GetNamespace(), "resourceVersion": u.GetResourceVersion()}
	if len(fields) > 0 {
		meta["labels"], meta["managedFields"] = u.Object["metadata"].(map[string]any)["labels"], specManagers(u)
	}
	return map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": meta, "spec": spec}
}

// specManagers says who owns something in the spec, though not what: enough to tell weir's rules from those of others.
func specManagers(u *unstructured.Unstructured) []any {
	out := []any{}
	for _, m := range u.GetManagedFields() {
		if m.FieldsV1 != nil && bytes.Contains(m.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) {
			out = append(out, map[string]any{"manager": m.Manager, "fieldsV1": map[string]any{"f:spec": map[string]any{}}})
		}
	}
	return out
}

func delegatesOf(u *unstructured.Unstructured, of ruleKey) []ruleKey {
	routes, _, _ := unstructured.NestedSlice(u.Object, "spec", "http")
	var out []ruleKey
	for _, r := range routes {
		route, _ := r.(map[string]any)
		name, _, _ := unstructured.NestedString(route, "delegate", "name")
		namespace, _, _ := unstructured.NestedString(route, "delegate", "namespace")
		if name != "" {
			out = append(out, ruleKey{of.kind, cmp.Or(namespace, of.namespace), name})
		}
	}
	return out
}

// Ranks of rules, in the order in which they are kept where not all can be sent.
const (
	rankOurs = iota
	rankBlocks
	rankUnweighted
	rankOutOfSight
)

// choose returns the rules that bear on a Service: weir's own for it, and those of others that package istio finds for
// any of its hosts, whatever the clients. LeftOut counts those that did not fit. It must not be called at the same time
// from two goroutines.
func (b *ruleBook) choose(namespace, name string) (rules []*pb.Rule, leftOut int) {
	k := types.NamespacedName{Namespace: namespace, Name: name}
	c, ok := b.choices[k]
	if !ok {
		c.rules, c.leftOut = b.fit(b.ranks(namespace, name))
		b.choices[k] = c
	}
	return c.rules, c.leftOut
}

// forget drops what is remembered of Services other than those given.
func (b *ruleBook) forget(except map[types.NamespacedName]*pb.ServiceFacts) {
	maps.DeleteFunc(b.choices, func(k types.NamespacedName, _ choice) bool { return except[k] == nil })
}

// ranks finds the rules that bear on a Service, each with its rank.
func (b *ruleBook) ranks(namespace, name string) map[ruleKey]int {
	ranks := map[ruleKey]int{}
	put := func(k ruleKey, rank int) {
		if have, ok := ranks[k]; !ok || rank < have {
			ranks[k] = rank
		}
	}
	for _, r := range b.parsed {
		if standsFor(r, namespace, name) {
			put(keyOf(r), rankOurs)
		}
	}
	in := istio.Input{
		Service:         istio.Service{Namespace: namespace, Name: name},
		Steering:        istio.Always, // It looks at most.
		SystemNamespace: b.systemNamespace,
		RootNamespace:   b.rootNamespace,
		Domain:          b.domain,
		ClusterSetHost:  true,
	}
	for _, c := range istio.Foreign(in, b.parsed) {
		k, rank := ruleKey{c.Kind, c.Namespace, c.Name}, rankOf(c.Code)
		put(k, rank)
		for _, d := range b.delegates[k] {
			if b.wire[d] != nil {
				put(d, rank) // The hub reads a rule and what it hands requests to together.
			}
		}
	}
	return ranks
}

// standsFor says whether a rule is the one that weir writes for a Service, or stands in its place: under its name, or
// with its labels.
func standsFor(r istio.Rule, namespace, name string) bool {
	if r.Namespace != namespace || r.Kind != "VirtualService" && r.Kind != "DestinationRule" {
		return false
	}
	return r.Name == istio.ObjectName(name, false) || r.Name == istio.ObjectName(name, true) ||
		r.Labels[istio.LabelManagedBy] == istio.ManagedBy && r.Labels[istio.LabelService] == name
}

func rankOf(code istio.ConflictCode) int {
	switch {
	case code.Blocks():
		return rankBlocks
	case code == istio.UnweightedClient:
		return rankUnweighted
	}
	return rankOutOfSight
}

// fit puts rules in order and keeps as many as one message may hold.
func (b *ruleBook) fit(ranks map[ruleKey]int) (kept []*pb.Rule, leftOut int) {
	order := make([]ruleKey, 0, len(ranks))
	for k := range ranks {
		order = append(order, k)
	}
	slices.SortFunc(order, func(x, y ruleKey) int { return cmp.Or(cmp.Compare(ranks[x], ranks[y]), compareKeys(x, y)) })
	size, sidecars := 0, 0
	for _, k := range order {
		if ranks[k] == rankOutOfSight {
			if sidecars++; sidecars > maxOutOfSight {
				leftOut++
				continue
			}
		}
		r := b.wire[k]
		if len(kept) == maxRules || size+len(r.GetObject()) > maxRulesBytes {
			leftOut++
			continue
		}
		size += len(r.GetObject())
		kept = append(kept, r)
	}
	return kept, leftOut
}
