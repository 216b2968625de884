// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/e2e/load"
)

const second = int64(time.Second)

// sent is a request of a client, answered unless err says why not.
func sent(id string, at int64, err string) load.Record {
	return load.Record{ID: id, Class: "h1/keepalive", Due: at, Sent: at, End: at + second/100, Err: err}
}

// sample is the result of a run of one client and two acts.
func sample(mode Mode) Result {
	books := load.Books{Runs: []load.Run{{Client: "c1-mesh", Records: []load.Record{
		sent("a", 1*second, ""), sent("b", 11*second, ""), sent("c", 12*second, "status 503"), sent("d", 25*second, ""),
	}}}}
	acts := []load.Mark{{Name: "steady", Time: 10 * second}, {Name: "power-off", Time: 20 * second}}
	return newResult(Options{Mode: mode, Seed: 4, Rate: 80}, "flat", books, acts, time.Unix(30, 0))
}

func TestEachActCountsWhatWasSentInIt(t *testing.T) {
	got := sample(Naive)
	for i := range got.Acts {
		got.Acts[i].Latency = load.Latency{}
	}
	want := []ActRecord{
		{Name: "steady", From: time.Unix(10, 0).UTC(), To: time.Unix(20, 0).UTC(), Counts: load.Counts{Sent: 2, OK: 1, Lost: 1}},
		{Name: "power-off", From: time.Unix(20, 0).UTC(), To: time.Unix(30, 0).UTC(), Counts: load.Counts{Sent: 1, OK: 1}},
	}
	if diff := cmp.Diff(want, got.Acts); diff != "" {
		t.Error(diff)
	}
	if got.Sent != 4 || got.Lost != 1 {
		t.Errorf("the requests before the first act are not in the account: %+v", got.Account)
	}
}

func TestWhatIsCountedApartIsNoLossOfItsAct(t *testing.T) {
	books := load.Books{
		Runs: []load.Run{{Client: "c1-mesh", Records: []load.Record{
			sent("a", 11*second, ""), sent("b", 12*second, "status 503"), sent("c", 21*second, "timeout"), sent("d", 22*second, ""),
		}}},
		Naive: []load.Span{{From: 20 * second, To: 30 * second}},
	}
	acts := []load.Mark{{Name: "abort", Time: 10 * second}, {Name: "power-off", Time: 20 * second}}
	got := newResult(Options{Mode: Weir}, "flat", books, acts, time.Unix(30, 0)).Acts
	for i, want := range []load.Counts{{Sent: 2, OK: 1, Lost: 1}, {Sent: 2, OK: 1}} {
		a := got[i]
		if diff := cmp.Diff(want, a.Counts); diff != "" || a.Sent != a.OK+a.Lost+a.Apart {
			t.Errorf("%s: %d apart, %s", a.Name, a.Apart, diff)
		}
		if told := strings.Contains(a.String(), "counted apart"); told != (a.Apart > 0) {
			t.Errorf("%d apart: %s", a.Apart, a)
		}
	}
}

func TestTheFileHasTheFieldsThatProgramsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	r := sample(Naive)
	proof := Proof{Level: "Proven", Istiods: []IstiodProof{{Name: "c1/istiod-1", Push: "7", Proxies: []ProxyProof{{Name: "x.demo", Acked: "7"}}}}}
	r.Steps = []Step{{Goal: "Drain", Kind: "Done", Cluster: "c2", Weights: proof, Fence: proof}}
	path, err := r.write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(dir, "naive.json") {
		t.Errorf("written to %s", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sent", "ok", "lost", "in_flight", "duplicated"} {
		if _, ok := file[name].(float64); !ok {
			t.Errorf("%s is %v", name, file[name])
		}
	}
	for _, name := range []string{"unprotected", "naive"} {
		apart, ok := file[name].(map[string]any)
		if !ok || apart["sent"] != 0.0 || apart["lost"] != 0.0 {
			t.Errorf("%s is %v", name, file[name])
		}
	}
	evidence := map[string]any{"level": "Proven", "istiods": []any{map[string]any{
		"name": "c1/istiod-1", "push": "7", "proxies": []any{map[string]any{"name": "x.demo", "acked": "7"}},
	}}}
	step := file["steps"].([]any)[0].(map[string]any)
	for name, want := range map[string]any{"goal": "Drain", "kind": "Done", "cluster": "c2", "weights": evidence, "fence": evidence} {
		if diff := cmp.Diff(want, step[name]); diff != "" {
			t.Errorf("%s of a step:\n%s", name, diff)
		}
	}
}

func TestAFileStaysShortAndItsNumbersWhole(t *testing.T) {
	var records []load.Record
	for i := range 5 * listed {
		records = append(records, sent(strings.Repeat("x", i+1), int64(i+1), "timeout"))
	}
	r := newResult(Options{Mode: Naive}, "flat", load.Books{Runs: []load.Run{{Client: "m", Records: records}}}, nil, time.Unix(1, 0))
	if r.Lost != 5*listed || len(r.Failures) != listed {
		t.Fatalf("%d lost, %d listed", r.Lost, len(r.Failures))
	}
}

// errAny stands for an error that has no name.
var errAny = errors.New("any")

func TestTheVerdictIsTheTruthOnTheLastLine(t *testing.T) {
	done := func(goal string, p Proof) Step {
		return Step{Goal: goal, Kind: "Done", Cluster: "c2", Weights: p, Fence: p}
	}
	proven := Proof{Level: "Proven", Istiods: []IstiodProof{{Name: "c1/istiod", Proxies: []ProxyProof{{Name: "x"}}}}}
	web := func(goal, kind, cluster string) Step {
		return Step{Goal: goal, Kind: kind, Cluster: cluster, Service: "demo/web", Weights: proven, Fence: proven}
	}
	steps := []Step{done("Drain", proven), done("Undrain", Proof{}), done("Abort", Proof{})}
	replicas := []Step{
		web("Move", "ReplicasUp", "c1"), web("Move", "ReplicasDown", "c3"),
		web("Drain", "ReplicasUp", "c1"), web("Drain", "ReplicasDown", "c2"), web("Drain", "Done", "c2"),
	}
	bare := func(a load.Account, steps ...Step) Result { return Result{Mode: Weir, Account: a, Steps: steps} }
	weir := func(a load.Account, steps ...Step) Result { return bare(a, append(steps, replicas...)...) }
	good := load.Account{Sent: 12000, OK: 11998, InFlight: 2, Naive: load.Apart{Sent: 9, Lost: 4}}
	with := func(change func(*load.Account)) load.Account {
		a := good
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		result Result
		last   string
		err    error
	}{
		"weir, good":            {weir(good, steps...), "lost 0 of 12000 requests", nil},
		"weir, lost":            {weir(with(func(a *load.Account) { a.Lost = 3 }), steps...), "lost 3 of 12000 requests", ErrLost},
		"weir, twice":           {weir(with(func(a *load.Account) { a.Duplicated = 1 }), steps...), "lost 0 of 12000 requests", ErrLost},
		"weir, weak control":    {weir(with(func(a *load.Account) { a.Naive.Lost = 0 }), steps...), "lost 0 of 12000 requests", ErrNothingLost},
		"weir, too few":         {weir(with(func(a *load.Account) { a.Sent = 9999 }), steps...), "lost 0 of 9999 requests", errAny},
		"weir, pods unproven":   {weir(good, append([]Step{{Goal: "Move", Kind: "ReplicasDown", Cluster: "c1", Weights: proven}}, steps...)...), "lost 0 of 12000 requests", errAny},
		"weir, no replicas":     {bare(good, steps...), "lost 0 of 12000 requests", errAny},
		"weir, no move":         {bare(good, append(steps[:3:3], replicas[2:]...)...), "lost 0 of 12000 requests", errAny},
		"weir, no abort":        {weir(good, steps[:2]...), "lost 0 of 12000 requests", errAny},
		"weir, drain by time":   {weir(good, done("Drain", Proof{Level: "Timed"}), steps[1], steps[2]), "lost 0 of 12000 requests", errAny},
		"weir, nobody to prove": {weir(good, done("Drain", Proof{Level: "Proven"}), steps[1], steps[2]), "lost 0 of 12000 requests", errAny},
		"lost some":             {Result{Mode: Naive, Account: load.Account{Sent: 50, OK: 46, Lost: 3, InFlight: 1}}, "lost 4 of 50 requests", nil},
		"lost none":             {Result{Mode: Naive, Account: load.Account{Sent: 50, OK: 50}}, "lost 0 of 50 requests", ErrNothingLost},
		"starved":               {Result{Mode: Naive, Account: load.Account{Sent: 50, Lost: 50, Starved: []string{"m"}}}, "", ErrStarved},
		"nothing at all":        {Result{Mode: Naive}, "lost 0 of 0 requests", ErrNothingLost},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := judge(c.result, newNarrator(&out))
			if (err == nil) != (c.err == nil) || !errors.Is(c.err, errAny) && !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			last := lines[len(lines)-1]
			if c.last != "" && last != c.last {
				t.Errorf("last line %q, want %q", last, c.last)
			}
			if c.last == "" && strings.HasPrefix(last, "lost") {
				t.Errorf("a verdict on a run that proves nothing: %q", last)
			}
		})
	}
}

func TestEachFailureIsToldWithItsActAndTheStepsAroundIt(t *testing.T) {
	r := sample(Weir)
	r.Steps = []Step{
		{Goal: "Drain", Kind: "Split", Cluster: "c2", Service: "demo/echo", Time: time.Unix(10, 0)},
		{Goal: "Drain", Kind: "Done", Cluster: "c2", Service: "demo/echo", Time: time.Unix(40, 0)},
	}
	want := []string{
		"lost 1 of 4 requests, 0 POSTs executed twice",
		"  m h1/keepalive c sent 00:00:12.000, after 10ms: status 503 (status 0, first upstream unknown)",
		"c was sent 2s into act steady",
		"  2s before: Drain Split of c2 for demo/echo",
	}
	r.Failures[0].Client = "m"
	if diff := cmp.Diff(want, r.complaints()); diff != "" {
		t.Error(diff)
	}
	r.Lost = 0
	if got := r.complaints(); got != nil {
		t.Errorf("complaints %q about a run without a loss", got)
	}
}
