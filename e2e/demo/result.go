// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/journal"
)

// Result is what a run writes to its file: the account, and the evidence for
// it.
type Result struct {
	Mode     Mode   `json:"mode"`
	Topology string `json:"topology"`
	Seed     uint64 `json:"seed"`
	// RatePerSecond is that of all clients together.
	RatePerSecond float64 `json:"ratePerSecond"`
	load.Account
	// Bound says what the number of losses proves.
	Bound string `json:"bound"`
	// Acts are what was done, in order, each with what was sent during it.
	Acts []ActRecord `json:"acts"`
	// Steps are those that weir took, with the proofs they rested on; none in
	// the naive run.
	Steps []Step `json:"steps"`
	// Lateness says for each client how well it kept its schedule.
	Lateness map[string]load.Lateness `json:"lateness"`
	// ProxyWait is the greatest share of ten seconds that a proxy with work
	// waited for a processor.
	ProxyWait float64 `json:"proxyWaitShare"`
	// Attempts is how often the run was begun: 2 when the machine was too busy
	// the first time.
	Attempts int `json:"attempts"`
}

// ActRecord is one act of the run and what clients saw of it. A request belongs
// to the act in which it was sent.
type ActRecord struct {
	Name string    `json:"name"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Lost are those that weir answers for.
	load.Counts
	// Apart were lost too, and are counted apart: in flight at a kill, through an ingress gateway during it, or while a cluster
	// was powered off without weir.
	Apart   int          `json:"apart"`
	Latency load.Latency `json:"latency"`
}

// Step is one step of a shift.
type Step struct {
	// Goal is Drain, Undrain, Abort or Move.
	Goal    string    `json:"goal"`
	Kind    string    `json:"kind"`
	Cluster string    `json:"cluster"`
	Service string    `json:"service"`
	Time    time.Time `json:"time"`
	// Replicas that the cluster shall have after it; nil where it changes none.
	Replicas *int32 `json:"replicas,omitempty"`
	Weights  Proof  `json:"weights"`
	Fence    Proof  `json:"fence"`
}

// Proof is the evidence that a step rested on.
type Proof struct {
	// Level is Proven, Timed or None.
	Level   string        `json:"level"`
	Istiods []IstiodProof `json:"istiods"`
}

// IstiodProof is what one istiod pushed, and which proxies acknowledged it.
type IstiodProof struct {
	Name    string       `json:"name"`
	Push    string       `json:"push"`
	Proxies []ProxyProof `json:"proxies"`
}

// ProxyProof is the push that a proxy acknowledged last.
type ProxyProof struct {
	Name  string `json:"name"`
	Acked string `json:"acked"`
}

// listed bounds how many failures and repeats stand in a file. Their numbers
// are always whole.
const listed = 200

// newResult settles the books of a run and cuts it at its acts.
func newResult(o Options, topology string, b load.Books, acts []load.Mark, end time.Time) Result {
	r := Result{
		Mode: o.Mode, Topology: topology, Seed: o.Seed, RatePerSecond: o.Rate,
		Account: load.Settle(b), Steps: []Step{}, Lateness: map[string]load.Lateness{},
	}
	r.Bound = load.Bound(r.Lost, r.Sent)
	r.Failures = r.Failures[:min(len(r.Failures), listed)]
	r.Repeats = r.Repeats[:min(len(r.Repeats), listed)]
	var all []load.Record
	for _, run := range b.Runs {
		all = append(all, run.Records...)
		r.Lateness[run.Client] = load.LatenessOf(run.Records)
	}
	if len(acts) == 0 {
		return r
	}
	// The first window ends where the first act begins, so nothing is in it.
	for _, w := range load.Windows(all, acts, acts[0].Time, end.UnixNano())[1:] {
		a := ActRecord{Name: w.Name, From: time.Unix(0, w.From).UTC(), To: time.Unix(0, w.To).UTC(), Counts: w.Counts, Latency: w.Latency}
		answers := load.Settle(b.Between(w.From, w.To)).Lost
		a.Lost, a.Apart = answers, w.Lost-answers
		r.Acts = append(r.Acts, a)
	}
	return r
}

// write puts the result into its file in dir: naive.json or demo.json.
func (r Result) write(dir string) (string, error) {
	name := "demo.json"
	if r.Mode == Naive {
		name = "naive.json"
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("result: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("result: %w", err)
	}
	path := filepath.Join(dir, name)
	if err := journal.Replace(path, append(content, '\n')); err != nil {
		return "", fmt.Errorf("result: %w", err)
	}
	return path, nil
}
