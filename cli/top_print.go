// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// longestName is how much of a name is shown: those of objects are no longer.
const longestName = 253

func (t *top) write(out io.Writer) error {
	if len(t.Clusters) == 0 {
		_, err := io.WriteString(out, "no cluster is registered: kubectl weir join\n")
		return err
	}
	w := newTable(out)
	w.row("CLUSTER", "STATE", "AGE", "NODES", "REPLICAS", "RESOURCE", "ALLOCATABLE", "RESERVED", "ALLOCATED", "FREE")
	for i := range t.Clusters {
		c := &t.Clusters[i]
		state := c.State
		if c.View != nil && c.Healthy != "True" {
			state += ", " + plain(c.Healthy, 64)
		}
		if c.Drain != "" {
			state += ", " + c.Drain
		}
		if c.View == nil {
			w.row(plain(c.Name, longestName), state+" ("+plain(c.Reason, 64)+")", lastSeen(c.LastKnown), "?", "?", "-", "?", "?", "?", "?")
			continue
		}
		w.sum(plain(c.Name, longestName), state, (time.Duration(c.View.AgeSeconds) * time.Second).String(), &c.View.topSum)
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		known := fmt.Sprintf("%d of %d known", len(g.Clusters), len(g.Clusters)+len(g.Unknown))
		w.sum("SUM "+plain(g.Name, longestName), known, "-", &g.topSum)
	}
	if len(t.Services) > 0 {
		w.row()
		w.row("SERVICE", "CLUSTER", "READY", "IN FLIGHT", "ARRIVALS/S")
	}
	for i := range t.Services {
		s := &t.Services[i]
		for _, c := range s.Clusters {
			name := plain(s.Namespace+"/"+s.Name, 2*longestName)
			if c.State != stateKnown {
				w.row(name, plain(c.Name, longestName), "Unknown", "Unknown", "Unknown")
				continue
			}
			w.row(name, plain(c.Name, longestName), fmt.Sprintf("%d/%d", *c.Ready, *c.Replicas), count64(c.InFlight, 1), count64(c.ArrivalsMilliPerSecond, 1000))
		}
	}
	return w.Flush()
}

// lastSeen says when something was known last of a member that is not heard.
func lastSeen(v *topView) string {
	if v == nil {
		return "-"
	}
	return (time.Duration(v.AgeSeconds) * time.Second).String()
}

// count64 is a number that may not have been measured.
func count64(n *int64, per int64) string {
	switch {
	case n == nil:
		return "not measured"
	case per == 1:
		return strconv.FormatInt(*n, 10)
	}
	return fmt.Sprintf("%.1f", float64(*n)/float64(per))
}

// sum writes a row for each resource that people ask for first; -o json has all.
func (t *table) sum(name, state, age string, s *topSum) {
	names := slices.SortedFunc(maps.Keys(s.Resources), byUse)
	names = slices.DeleteFunc(names, func(n corev1.ResourceName) bool {
		return n == corev1.ResourcePods || n == corev1.ResourceEphemeralStorage || strings.HasPrefix(string(n), corev1.ResourceHugePagesPrefix)
	})
	replicas := fmt.Sprintf("%d/%d", s.ReplicasReady, s.ReplicasDecided)
	if s.ReplicasUnknown > 0 {
		replicas += fmt.Sprintf(" (%d unknown)", s.ReplicasUnknown)
	}
	head := []any{name, state, age, s.Nodes, replicas}
	if len(names) == 0 {
		t.row(append(head, "-", "-", "-", "-", "-")...)
	}
	for _, n := range names {
		a := s.Resources[n]
		t.row(append(head, plain(string(n), longestName), amount(n, a.Allocatable), amount(n, a.Reserved), amount(n, a.Allocated), amount(n, a.Free))...)
		head = []any{"", "", "", "", ""}
	}
}

// byUse sorts resources: cpu, memory, then by name.
func byUse(a, b corev1.ResourceName) int {
	rank := func(n corev1.ResourceName) int {
		return slices.Index([]corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceCPU}, n)
	}
	if d := rank(b) - rank(a); d != 0 {
		return d
	}
	return strings.Compare(string(a), string(b))
}

// amount is a quantity short enough for a column: memory in MiB, which is below what nodes differ by.
func amount(name corev1.ResourceName, q resource.Quantity) string {
	if name == corev1.ResourceMemory {
		return strconv.FormatInt(q.Value()>>20, 10) + "Mi"
	}
	return q.String()
}
