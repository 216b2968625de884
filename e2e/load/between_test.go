// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/e2e/load"
)

func TestThePartsOfTheBooksAddUpToTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := load.Books{Runs: []load.Run{{Client: "m"}, {Client: "o", Outside: true}}, Ledgers: []load.Ledger{{Pod: "k", Cluster: "c2"}}}
		for i, at := range rapid.SliceOfN(rapid.Int64Range(1, 60), 0, 40).Draw(t, "sent") {
			id, run := strconv.Itoa(i), &b.Runs[i%2]
			r := answered(id, at*s, 5)
			switch rapid.SampledFrom([]string{"answered", "failed", "open", "twice"}).Draw(t, "fate") {
			case "failed":
				r = failed(id, at*s, 5)
			case "open":
				r.End, r.Status = 0, 0
			case "twice":
				b.Ledgers[0].Entries = append(b.Ledgers[0].Entries, load.Entry{Time: at * s, Event: load.Executed, ID: id})
			}
			run.Records = append(run.Records, r)
			b.Ledgers[0].Entries = append(b.Ledgers[0].Entries, load.Entry{Time: at * s, Event: load.Executed, ID: id})
		}
		cut := rapid.Int64Range(0, 61).Draw(t, "cut") * s
		whole, sum := load.Settle(b), load.Account{}
		for _, part := range []load.Books{b.Between(0, cut), b.Between(cut, 100*s)} {
			a := load.Settle(part)
			sum.Sent, sum.OK, sum.Lost, sum.Duplicated = sum.Sent+a.Sent, sum.OK+a.OK, sum.Lost+a.Lost, sum.Duplicated+a.Duplicated
		}
		want := load.Account{Sent: whole.Sent, OK: whole.OK, Lost: whole.Lost, Duplicated: whole.Duplicated}
		if diff := cmp.Diff(want, sum); diff != "" {
			t.Fatal(diff)
		}
		if got := b.Between(0, cut).Open() + b.Between(cut, 100*s).Open(); got != b.Open() {
			t.Fatalf("%d requests have no fate, the parts say %d", b.Open(), got)
		}
	})
}
