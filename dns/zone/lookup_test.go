// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weir-io/weir/dns/table"
	"github.com/weir-io/weir/dns/zone"
)

// TestEveryQuestionHasItsAnswer runs the scripts of testdata/lookup. The commands are:
//
//	table   reads a table in the form of a file
//	ask     one question a line: NAME TYPE [DRAW in percent of all draws]
//	list    prints the entries
func TestEveryQuestionHasItsAnswer(t *testing.T) {
	datadriven.Walk(t, "testdata/lookup", func(t *testing.T, path string) {
		t.Helper()
		var loaded table.Loaded
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			switch d.Cmd {
			case "table":
				var err error
				if loaded, err = table.Parse("table", []byte(d.Input)); err != nil {
					return err.Error()
				}
				return fmt.Sprintf("serial %d", loaded.Table.Serial())
			case "ask":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					fmt.Fprintln(&out, ask(t, loaded.Table, strings.Fields(line)))
				}
				return out.String()
			case "list":
				var out strings.Builder
				for _, e := range loaded.Table.Entries() {
					fmt.Fprintln(&out, e.Name, e.TTL, e.Cluster, e.Weight, e.Addresses)
				}
				return out.String()
			}
			t.Fatalf("there is no command %q", d.Cmd)
			return ""
		})
	})
}

var types = map[string]uint16{"A": zone.TypeA, "AAAA": zone.TypeAAAA, "NS": zone.TypeNS, "SOA": zone.TypeSOA, "ANY": zone.TypeANY, "MX": 15, "CNAME": 5, "SRV": 33, "HTTPS": 65, "TYPE65534": 65534}

var rcodes = map[zone.Rcode]string{zone.NoError: "NOERROR", zone.ServFail: "SERVFAIL", zone.NameError: "NXDOMAIN", zone.Refused: "REFUSED"}

func ask(t *testing.T, tbl *zone.Table, args []string) string {
	t.Helper()
	kind, ok := types[args[1]]
	if !ok {
		t.Fatalf("there is no type %q", args[1])
	}
	q := zone.Question{Name: args[0], Type: kind}
	if len(args) > 2 {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(args[2], "%"), 64)
		if err != nil {
			t.Fatal(err)
		}
		q.Draw = math.MaxUint64
		if percent < 100 {
			q.Draw = uint64(percent / 100 * (1 << 63) * 2)
		}
	}
	a := tbl.Lookup(q)
	out := fmt.Sprintf("%-40s %-5s %s %s", strings.Join(args, " "), "", rcodes[a.Rcode], a.Reason)
	if a.Type != 0 {
		out += fmt.Sprintf(" type=%d ttl=%s", a.Type, a.TTL)
	}
	if len(a.Addresses) > 0 {
		out += fmt.Sprintf(" %v", a.Addresses)
	}
	if a.Target >= 0 {
		target := tbl.Targets()[a.Target]
		out += fmt.Sprintf(" (%s of %s)", target.Cluster, target.Name)
	}
	return out
}

func TestWithoutATableNothingCanBeSaid(t *testing.T) {
	var none *zone.Table
	a := none.Lookup(zone.Question{Name: "a.", Type: zone.TypeA})
	if a.Rcode != zone.ServFail || a.Reason != zone.NoTable || a.Target != -1 {
		t.Errorf("got %+v", a)
	}
	if none.Serial() != 0 || none.Zones() != nil || none.Targets() != nil || none.Entries() != nil {
		t.Error("a table that is none holds something")
	}
}
