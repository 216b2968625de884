// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestDecisionsAreAsWritten replays the tables in testdata. Their commands:
//
//	new      start over; arguments set the service, each line of input a cluster
//	set      change facts; arguments name the cluster (or none) and the facts
//	next     print the step and the reasons
//	do       carry the step out, unproven
//	prove    prove everything that was written
//	walk     next, do, prove, and let happen what the reasons wait for, until Done
func TestDecisionsAreAsWritten(t *testing.T) {
	datadriven.Walk(t, "testdata/tables", func(t *testing.T, path string) {
		t.Helper()
		var b bench
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			return b.run(t, d)
		})
	})
}

type bench struct{ s State }

func (b *bench) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "new":
		b.s = State{Record: Open}
		b.service(t, d.CmdArgs)
		for line := range strings.Lines(d.Input) {
			fields := strings.Fields(line)
			c := Cluster{Name: fields[0], Sight: Seen, DNS: Unused}
			for _, f := range fields[1:] {
				key, value, _ := strings.Cut(f, "=")
				b.fact(t, &c, key, value)
			}
			b.s.Clusters = append(b.s.Clusters, c)
		}
		return b.valid()
	case "set":
		var rest []datadriven.CmdArg
		var c *Cluster
		for _, a := range d.CmdArgs {
			switch {
			case a.Key == "cluster":
				c = b.cluster(a.Vals[0])
			case c != nil:
				b.fact(t, c, a.Key, strings.Join(a.Vals, ","))
			default:
				rest = append(rest, a)
			}
		}
		b.service(t, rest)
		return b.valid()
	case "next":
		return b.say(Next(b.s))
	case "do":
		step, _ := Next(b.s)
		b.do(step)
		return step.Kind.String() + "\n"
	case "prove":
		b.prove()
		return b.valid()
	case "walk":
		return b.walk()
	}
	t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	return ""
}

func (b *bench) valid() string {
	if err := Validate(b.s); err != nil {
		return err.Error() + "\n"
	}
	return "ok\n"
}

func (b *bench) cluster(name string) *Cluster {
	for i := range b.s.Clusters {
		if b.s.Clusters[i].Name == name {
			return &b.s.Clusters[i]
		}
	}
	return &Cluster{}
}

func (b *bench) service(t *testing.T, args []datadriven.CmdArg) {
	t.Helper()
	for _, a := range args {
		v := ""
		if len(a.Vals) > 0 {
			v = a.Vals[0]
		}
		switch a.Key {
		case "replicas":
			read(t, &b.s.Replicas, v)
		case "steering":
			read(t, &b.s.Steering, v)
		case "headroom":
			read(t, &b.s.Headroom, v)
		case "record":
			read(t, &b.s.Record, v)
		case "decision":
			read(t, &b.s.Decision, v)
		case "demand":
			b.s.Demand = number(t, v)
		case "minReady":
			b.s.MinReady = number(t, v)
		case "maxStep":
			b.s.Limits.MaxStep = Permille(number(t, v))
		case "fenceStep":
			b.s.Limits.FenceStep = number(t, v)
		case "foreign":
			b.s.Foreign = v
		case "unweighted":
			b.s.Unweighted = a.Vals
		case "rules":
			proof(t, &b.s.Rules, a.Vals)
		case "weights":
			proof(t, &b.s.Weights, a.Vals)
		case "fence":
			proof(t, &b.s.Fence, a.Vals)
		default:
			t.Fatalf("no fact %q of a service", a.Key)
		}
	}
}

func (b *bench) fact(t *testing.T, c *Cluster, key, value string) {
	t.Helper()
	switch key {
	case "goal":
		read(t, &c.Goal, value)
	case "turn":
		c.Turn = number(t, value)
	case "accepted":
		c.Accepted = true
	case "before":
		c.Before = place(t, value)
	case "target":
		c.Target = place(t, value)
	case "pods": // Applied, all of them ready.
		c.Applied = number(t, value)
		c.Ready = c.Applied
	case "ready":
		c.Ready = number(t, value)
	case "fenced":
		c.Fenced = number(t, value)
	case "floor":
		c.Floor = number(t, value)
	case "entry":
		read(t, &c.Entry, value)
	case "hold":
		read(t, &c.Hold, value)
	case "scaler":
		read(t, &c.Scaler, value)
	case "wrote": // And held by every proxy.
		c.Wrote = Permille(number(t, value))
		c.HeldLo, c.HeldHi = c.Wrote, c.Wrote
	case "held":
		lo, hi, _ := strings.Cut(value, "-")
		c.HeldLo, c.HeldHi = Permille(number(t, lo)), Permille(number(t, hi))
	case "dns":
		read(t, &c.DNS, value)
	case "quiet":
		read(t, &c.Quiet, value)
	case "inFlight":
		read(t, &c.InFlight, value)
	case "sight":
		read(t, &c.Sight, value)
	default:
		t.Fatalf("no fact %q of a cluster", key)
	}
}

func read(t *testing.T, into interface{ UnmarshalText(text []byte) error }, v string) {
	t.Helper()
	if err := into.UnmarshalText([]byte(v)); err != nil {
		t.Fatal(err)
	}
}

func number(t *testing.T, v string) int32 {
	t.Helper()
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}

func place(t *testing.T, v string) Place {
	t.Helper()
	replicas, share, _ := strings.Cut(v, "/")
	return Place{Replicas: number(t, replicas), Share: Permille(number(t, share))}
}

// proof reads (level, lease, who is missing as cluster/name…).
func proof(t *testing.T, q *Proof, vals []string) {
	t.Helper()
	*q = Proof{}
	read(t, &q.Level, vals[0])
	read(t, &q.Lease, vals[1])
	for _, v := range vals[2:] {
		if v == "overdue" {
			q.Overdue = true
			continue
		}
		cluster, name, _ := strings.Cut(v, "/")
		q.Missing = append(q.Missing, Laggard{Cluster: cluster, Name: name})
	}
}

func (b *bench) say(step Step, why []Blocked) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s", step.Kind)
	if step.Cluster != "" {
		fmt.Fprintf(&out, " %s (%s)", step.Cluster, step.Goal)
	}
	switch step.Kind {
	case ReplicasUp, ReplicasDown:
		fmt.Fprintf(&out, " to %d", step.Replicas)
	case Fence, Unfence:
		fmt.Fprintf(&out, " to %d, entry %s", step.Fenced, step.Entry)
	case Renew:
		fmt.Fprintf(&out, " %s", step.Renews)
	default:
	}
	for _, w := range step.Split {
		fmt.Fprintf(&out, " %s=%d", w.Cluster, w.Share)
	}
	if step.Kind == ReplicasDown || step.Kind == Done {
		fmt.Fprintf(&out, " [weights %s, fence %s, quiet %s]", step.Proofs.Weights, step.Proofs.Fence, step.Proofs.Quiet)
	}
	if len(step.Finished) > 0 {
		fmt.Fprintf(&out, " finished %v", step.Finished)
	}
	out.WriteByte('\n')
	for _, x := range why {
		mark := "-"
		if x.Note {
			mark = "note:"
		}
		fmt.Fprintf(&out, "  %s %s (%s until %s)\n", mark, x.Sentence(), x.Code, x.Wakes)
	}
	return out.String()
}

// do carries a step out; what was written waits for its proof.
func (b *bench) do(step Step) {
	c := b.cluster(step.Cluster)
	switch step.Kind {
	case ReplicasUp, ReplicasDown:
		c.Applied = step.Replicas
		c.Scaler = limited(c.Scaler, step.Kind)
	case Rules:
		b.s.Rules = Proof{Level: Waiting, Lease: Fresh}
	case Split:
		for _, w := range step.Split {
			c := b.cluster(w.Cluster)
			c.Wrote = w.Share
			c.HeldLo, c.HeldHi = min(c.HeldLo, c.Wrote), max(c.HeldHi, c.Wrote)
		}
		b.s.Weights = Proof{Level: Waiting, Lease: Fresh}
	case Fence, Unfence:
		c.Fenced, c.Entry = step.Fenced, step.Entry
		c.Quiet, c.InFlight = Busy, SomeWork
		b.s.Fence = Proof{Level: Waiting, Lease: Fresh}
	case DNSOut:
		c.DNS = Cached
	case DNSIn:
		c.DNS = Named
	case Renew:
		for s, q := range map[Subject]*Proof{RulesSubject: &b.s.Rules, WeightsSubject: &b.s.Weights, FenceSubject: &b.s.Fence} {
			if s == step.Renews {
				*q = Proof{Level: Waiting, Lease: Fresh}
			}
		}
	case Release:
		aborts := slices.ContainsFunc(b.s.Clusters, func(c Cluster) bool { return c.Goal == Abort })
		b.s.Record = Closed
		for i := range b.s.Clusters {
			c := &b.s.Clusters[i]
			c.Goal = Stay
			if c.Ready == 0 {
				c.Entry = Free
			}
			if aborts {
				c.Target = c.Before
			}
		}
	case Wait, Done:
	}
}

func (b *bench) prove() {
	for _, q := range []*Proof{&b.s.Rules, &b.s.Weights, &b.s.Fence} {
		if q.Level != Unwritten {
			*q = Proof{Level: Proven, Lease: Fresh}
		}
	}
	for i := range b.s.Clusters {
		c := &b.s.Clusters[i]
		c.HeldLo, c.HeldHi = c.Wrote, c.Wrote
	}
}

// walk goes on until Done, or until a wait that nothing in the table's world ends.
func (b *bench) walk() string {
	var out strings.Builder
	for range 60 {
		step, why := Next(b.s)
		out.WriteString(b.say(step, why))
		if step.Kind == Done {
			return out.String()
		}
		b.do(step)
		b.prove()
		if step.Kind == Wait {
			for _, x := range why {
				b.happen(x)
			}
		}
	}
	return out.String() + "never Done\n"
}

// happen brings about what a reason waits for.
func (b *bench) happen(x Blocked) {
	c := b.cluster(x.Cluster)
	switch x.Wakes {
	case ReplicasReady:
		for i := range b.s.Clusters {
			b.s.Clusters[i].Ready = max(b.s.Clusters[i].Ready, b.s.Clusters[i].Applied)
		}
	case PodsGone:
		c.Fenced = max(0, c.Fenced-(c.Ready-c.Applied))
		c.Ready = c.Applied
	case CacheExpired:
		c.DNS = Expired
	case WentQuiet:
		c.Quiet = Twice
	case WorkDone:
		c.InFlight = NoWork
	case SightBack:
		c.Sight = Seen
	case ForeignGone:
		b.s.Foreign = ""
	case ConsentGiven:
		c.Accepted = true
	case FloorLowered:
		c.Floor = 0
	case AutoscalerRaised:
		c.Applied = max(c.Applied, x.Need)
	default: // A walk proves everything itself, and undoes no drain.
	}
}
