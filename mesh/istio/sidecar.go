// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"fmt"
	"strings"
)

// sidecar holds a Sidecar against the hosts. Weir's rules stand in the Service's
// namespace, so whoever imports the Service imports them too. Whoever does not
// has no route, no weights and no reflex for it: its calls leave by the address
// alone, to pods of its own cluster, and no proof can be asked of it.
func (s *search) sidecar(r Rule) []Conflict {
	egress := objects(r.Spec, "egress")
	if len(egress) == 0 || !s.isClient(r.Namespace) && r.Namespace != s.in.RootNamespace {
		return nil
	}
	var entries []string
	for _, e := range egress {
		entries = append(entries, texts(e, "hosts")...)
	}
	var found []Conflict
	for _, h := range s.hosts {
		if imports(entries, r.Namespace, s.in.Service.Namespace, h) {
			continue
		}
		who := "workloads in namespace " + r.Namespace
		switch {
		case field(r.Spec, "workloadSelector") != nil:
			who = "the workloads it selects in namespace " + r.Namespace
		case r.Namespace == s.in.RootNamespace:
			who = "workloads in every namespace without a Sidecar of its own"
		}
		c := conflict(OutOfSight, r, h)
		c.Why = who + " do not import the host; if they call it all the same, weights, retries and proof do not reach them"
		c.WayOut = fmt.Sprintf("add %s/%s to its egress hosts if they call the service; else nothing", s.in.Service.Namespace, h)
		found = append(found, c)
	}
	return found
}

// imports says whether egress entries of the form namespace/host let a host in.
// An entry that starts with a tilde shuts out what it names.
func imports(entries []string, home, namespace, host string) bool {
	in := false
	for _, e := range entries {
		ns, pattern, ok := strings.Cut(e, "/")
		if !ok || ns == "~" {
			continue // "~/*" imports nothing.
		}
		ns, out := strings.CutPrefix(ns, "~")
		if ns == "." {
			ns = home
		}
		if ns != everyone && ns != namespace || !covers(strings.ToLower(pattern), host) {
			continue
		}
		if out {
			return false
		}
		in = true
	}
	return in
}
