// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Edit is one field of a rule of ours that is not as weir wrote it.
type Edit struct {
	// Field is its path, for example "spec.http[0].route[1].weight".
	Field string
	// Ours and Theirs are the values as JSON; empty where the field is absent.
	Ours, Theirs string
	// Managers are the field managers, other than weir's, that own the field or
	// what holds it. Empty where nobody owns it any more: it was taken out, or
	// the object was replaced.
	Managers []string
}

// String tells the edit in words, stable for the same edit.
func (e Edit) String() string {
	who := "someone who left no name"
	if len(e.Managers) > 0 {
		who = strings.Join(e.Managers, ", ")
	}
	return fmt.Sprintf("%s: weir wrote %s, %s made it %s", e.Field, orNothing(e.Ours), who, orNothing(e.Theirs))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// Drift compares a rule as weir wrote it with the one that stands in the API
// server: the whole spec and weir's labels. It finds writes of others in mid-shift,
// and who made them. A rule that is gone, nil, is one Edit.
func Drift(ours, live map[string]any) []Edit {
	if live == nil {
		return []Edit{{Field: "metadata", Ours: quote(field(ours, "metadata")["name"])}}
	}
	var managers []Manager
	if r, err := ParseRule(live); err == nil {
		managers = r.Managers
	}
	d := drift{managers: managers}
	d.compare([]string{"spec"}, "spec", normal(ours["spec"]), normal(live["spec"]))
	mine, theirs := field(field(ours, "metadata"), "labels"), field(field(live, "metadata"), "labels")
	for _, k := range slices.Sorted(maps.Keys(mine)) {
		d.compare([]string{"metadata", "labels", k}, "metadata.labels["+k+"]", mine[k], theirs[k])
	}
	return d.edits
}

type drift struct {
	managers []Manager
	edits    []Edit
}

// compare walks two values. The path leaves out indexes: Istio's lists carry no
// keys, so an owner of a list owns all of it.
func (d *drift) compare(path []string, at string, ours, theirs any) {
	om, oursMap := ours.(map[string]any)
	tm, theirsMap := theirs.(map[string]any)
	if oursMap && theirsMap {
		both := maps.Clone(om)
		maps.Copy(both, tm)
		for _, k := range slices.Sorted(maps.Keys(both)) {
			d.compare(append(slices.Clone(path), k), at+"."+k, om[k], tm[k])
		}
		return
	}
	ol, oursList := ours.([]any)
	tl, theirsList := theirs.([]any)
	if oursList && theirsList {
		for i := range max(len(ol), len(tl)) {
			d.compare(path, at+"["+strconv.Itoa(i)+"]", element(ol, i), element(tl, i))
		}
		return
	}
	if o, t := quote(ours), quote(theirs); o != t {
		d.edits = append(d.edits, Edit{Field: at, Ours: o, Theirs: t, Managers: d.owners(path)})
	}
}

func element(l []any, i int) any {
	if i < len(l) {
		return l[i]
	}
	return nil
}

// owners returns who else owns the field at a path or the nearest thing around it
// that is owned at all.
func (d *drift) owners(path []string) []string {
	var best []string
	depth := 0
	for _, m := range d.managers {
		if m.Name == FieldManager || m.Subresource != "" {
			continue
		}
		switch n := ownedDepth(m.Fields, path); {
		case n == 0 || n < depth:
		case n > depth:
			depth, best = n, []string{m.Name}
		default:
			best = append(best, m.Name)
		}
	}
	slices.Sort(best)
	return slices.Compact(best)
}

// ownedDepth returns how much of the path a fieldsV1 names; 0 unless it reaches
// the path's end or a leaf on the way, which owns all below it.
func ownedDepth(fields map[string]any, path []string) int {
	for i, p := range path {
		next, ok := fields["f:"+p].(map[string]any)
		if !ok {
			return 0
		}
		if len(next) == 0 {
			return i + 1
		}
		fields = next
	}
	return len(path)
}

// normal brings numbers of all kinds to one, as JSON does.
func normal(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // Not an object of an API server; compare it as text.
	}
	var out any
	if json.Unmarshal(b, &out) != nil {
		return string(b)
	}
	return out
}

func quote(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
