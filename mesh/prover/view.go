// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/concern"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

// query turns a target into the canary's words.
func (t Target) query(network string) canary.Query {
	q := canary.Query{
		Generation: t.Generation,
		Absent:     t.absent(network),
		Present:    t.present(network),
	}
	for _, host := range t.Hosts {
		for _, port := range t.Ports {
			q.Clusters = append(q.Clusters, istio.EnvoyCluster(port.Number, "", host))
			for _, subset := range t.Subsets {
				q.Clusters = append(q.Clusters, istio.EnvoyCluster(port.Number, subset, host))
			}
			if port.Routed && t.Generation != 0 {
				q.VirtualHosts = append(q.VirtualHosts, canary.VirtualHost{
					Configs: port.configs(host),
					Name:    host + ":" + strconv.Itoa(int(port.Number)),
				})
			}
		}
	}
	return q
}

// configs returns the route configurations in which the host's routes for the
// port may stand.
func (p Port) configs(host string) []string {
	number := strconv.Itoa(int(p.Number))
	if p.Detected {
		return []string{host + ":" + number, number}
	}
	return []string{number}
}

// subscriptions returns the names that canaries ask for, sorted. Endpoints and
// routes are asked for at rest too, and without a generation: a canary that
// comes late knows less.
func subscriptions(targets []Target) (routes, clusters []string) {
	r, c := map[string]bool{}, map[string]bool{}
	for _, t := range targets {
		for _, name := range t.query("").Clusters {
			c[name] = true
		}
		for _, host := range t.Hosts {
			for _, port := range t.Ports {
				for _, name := range port.configs(host) {
					r[name] = r[name] || port.Routed
				}
			}
		}
	}
	maps.DeleteFunc(r, func(_ string, routed bool) bool { return !routed })
	return slices.Sorted(maps.Keys(r)), slices.Sorted(maps.Keys(c))
}

// view is what is seen of one target: by the canaries, by replica, and in the
// dumps, by proxy.
type view struct {
	answers map[string]canary.Answer
	reach   map[string]concern.Reach
	young   map[string]bool
}

// view asks every canary about every target, and notes since when all of them
// serve what is wanted.
func (p *Prover) view(targets []Target) []view {
	now := time.Now()
	out := make([]view, len(targets))
	ids := slices.Sorted(maps.Keys(p.state.replicas))
	for i, t := range targets {
		q := t.query(p.cfg.Place.Network)
		out[i].answers = make(map[string]canary.Answer, len(ids))
		var of strings.Builder
		carried, fenced := len(ids) > 0, len(ids) > 0
		for _, id := range ids {
			a := p.state.replicas[id].canary.Ask(q)
			out[i].answers[id] = a
			carried = carried && carries(t, a)
			fenced = fenced && a.Fence.Sight == canary.SightNew
			fmt.Fprintf(&of, "%s#%d ", id, a.Stream)
		}
		k := p.state.known[t.Key()]
		k.ask(t, p.cfg.Place.Network, now)
		k.carried.note(carried, of.String()+strings.Join(k.asks[:2], ";"), now)
		k.settled.note(carried && fenced, of.String()+strings.Join(k.asks[:], ";"), now)
	}
	return out
}

// carries tells whether a replica serves the routes that the target wants.
func carries(t Target, a canary.Answer) bool {
	if a.Stream == 0 {
		return false
	}
	return !t.hasRoutes() || a.Routes.Sight == canary.SightNew
}

// ask notes when each question was first asked.
func (k *known) ask(t Target, network string, now time.Time) {
	for i, c := range []claim{rulesClaim(t), weightsClaim(t), fenceClaim(t, network)} {
		if k.asks[i] == c.question {
			continue
		}
		k.asks[i] = c.question
		*[]*time.Time{&k.asked.Rules, &k.asked.Weights, &k.asked.Fence}[i] = now
	}
}

// observe puts together what Evaluate looks at.
func (p *Prover) observe(now time.Time, t Target, snap Snapshot, listed bool, v view) Observation {
	k := p.state.known[t.Key()]
	o := Observation{
		Now:         now,
		Target:      t,
		Asked:       k.asked,
		Namespace:   p.cfg.Place.Namespace,
		Network:     p.cfg.Place.Network,
		Pods:        snap.Pods,
		CensusKnown: listed,
		Reach:       v.reach,
		Young:       v.young,
	}
	if !k.settled.at.IsZero() {
		o.Settled = k.settled.at.Add(skew)
	}
	for _, id := range slices.Sorted(maps.Keys(p.state.replicas)) {
		r := p.state.replicas[id]
		o.Replicas = append(o.Replicas, Replica{
			Pod:           r.pod,
			Keeps:         syncz.KeepsVersion(r.version),
			Canary:        v.answers[id],
			CanaryRefused: refused(r.canary.Err()),
			Reading:       r.reading,
			Fault:         r.fault,
		})
	}
	return o
}
