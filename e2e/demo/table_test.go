// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableShowsWhatIsKnownAndMarksWhatIsNot(t *testing.T) {
	var b strings.Builder
	err := writeTable(&b, []row{
		{Cluster: "c1", Ready: 3, Web: &part{3, 4, 5}, Weight: &weight{Wanted: 500, Written: 500, Proven: 334}, Arrivals: 41.25, Clients: true, Errors: 2},
		{Cluster: "c2", Ready: -1, Fenced: -1},
		{Cluster: "c3", Ready: 3, Weight: &weight{Wanted: 500}, Fenced: 1, Clients: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"  CLUSTER   READY   WEB READY/ASKED/WANTED   WANTED/WRITTEN/PROVEN   FENCED   ARRIVALS/S   ERRORS",
		"  c1        3       3/4/5                    50/50/33 %              0        41.2         2",
		"  c2        ?       -                        -                       ?        0.0          -",
		"  c3        3       -                        50/0/0 %                1        0.0          0",
		"",
	}, "\n")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Fatal(diff)
	}
}
