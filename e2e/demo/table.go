// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// row is one cluster's line of the live table.
type row struct {
	Cluster string
	// Ready is the number of ready pods of the application; negative when the
	// cluster does not say.
	Ready int
	// Web is what the cluster has of the workload that weir divides; nil when
	// there is none, or nobody says.
	Web *part
	// Weight is that of the plan; nil when weir holds no rule for the service.
	Weight *weight
	// Fenced is how many of the pods are fenced; negative when there is no
	// fence to speak of.
	Fenced int
	// Arrivals is how many requests a second reached the pods there, by their
	// own ledgers.
	Arrivals float64
	// Clients says whether clients run in the cluster; Errors counts the
	// requests they have lost so far.
	Clients bool
	Errors  int
}

// part is one cluster's part of a division: replicas that are ready, asked for
// there, and wanted there in the end.
type part struct{ Ready, Asked, Wanted int32 }

// weight is one cluster's weight, in thousandths: wanted, written, and the most
// that any proxy may still use.
type weight struct{ Wanted, Written, Proven int32 }

// writeTable writes the rows as a table, with a line of names above.
func writeTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  CLUSTER\tREADY\tWEB READY/ASKED/WANTED\tWANTED/WRITTEN/PROVEN\tFENCED\tARRIVALS/S\tERRORS")
	for _, r := range rows {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%.1f\t%s\n",
			r.Cluster, known(r.Ready), r.Web, r.Weight, known(r.Fenced), r.Arrivals, r.errors())
	}
	return t.Flush()
}

// String gives the three numbers.
func (p *part) String() string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d/%d", p.Ready, p.Asked, p.Wanted)
}

// String gives the three weights in per cent.
func (w *weight) String() string {
	if w == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f/%.0f/%.0f %%", float64(w.Wanted)/10, float64(w.Written)/10, float64(w.Proven)/10)
}

// errors tells what the cluster's clients lost, if it has any.
func (r row) errors() string {
	if !r.Clients {
		return "-"
	}
	return strconv.Itoa(r.Errors)
}

// known gives a number, or a mark for one that nobody can tell.
func known(n int) string {
	if n < 0 {
		return "?"
	}
	return strconv.Itoa(n)
}
