// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/concern"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

const (
	// maxDumps bounds the configurations that are read in one round, and
	// parallelDumps how many of them at once: istiod makes each anew.
	maxDumps      = 64
	parallelDumps = 4
	// dumpAgain is how old the dump of a class that routes of ours do not
	// reach may get while a shift is active.
	dumpAgain = 5 * time.Second
	// dumpSettles is how long after all replicas serve the routes a dump shows
	// them: one shows what istiod last began to send, which a moment after a
	// write may be the configuration before.
	dumpSettles = time.Second
)

// dumps are the configurations that were read, by scope class.
type dumps struct {
	byClass map[concern.Class]dump
}

// dump is what one proxy's configuration told of all of its class on its
// replica. What one replica makes tells nothing of what another does.
type dump struct {
	at    time.Time
	hosts map[string]bool
	reach map[string]concern.Reach
}

func newDumps() dumps { return dumps{byClass: map[concern.Class]dump{}} }

// representative is the proxy that is asked for a class.
type representative struct {
	class   concern.Class
	proxy   string
	replica *replica
	sent    uint64
	urgent  bool
}

// readDumps reads the configurations that are needed to tell who is concerned,
// and fills in the views' reach. Each is read for the hosts of all targets, so
// that it serves those too that are judged later.
func (p *Prover) readDumps(ctx context.Context, snap Snapshot, all, targets []Target, views []view) {
	classes, members := p.classes(snap)
	var hosts []string
	for _, t := range all {
		hosts = append(hosts, t.Hosts...)
	}
	due := p.due(classes, targets)
	limit := make(chan struct{}, parallelDumps)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, r := range due {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			began := time.Now()
			reach, err := p.readDump(ctx, r, hosts)
			if err != nil {
				p.cfg.Log.Debug("can not read a proxy's configuration", "proxy", r.proxy, "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			p.state.dumps.byClass[r.class] = dump{at: began, hosts: setOf(hosts), reach: reach}
		})
	}
	wg.Wait()
	for class := range p.state.dumps.byClass {
		if _, ok := classes[class]; !ok {
			delete(p.state.dumps.byClass, class)
		}
	}
	for i, t := range targets {
		views[i].reach, views[i].young = map[string]concern.Reach{}, map[string]bool{}
		for proxy, class := range members {
			reach, ok := p.reach(class, t)
			if ok {
				views[i].reach[proxy] = reach
			}
			if ok && p.young(class, t, reach) {
				views[i].young[proxy] = true
			}
		}
	}
}

func (p *Prover) readDump(ctx context.Context, r representative, hosts []string) (map[string]concern.Reach, error) {
	var out map[string]concern.Reach
	err := p.debug.Config(ctx, r.replica.pod.Debug, r.proxy, func(body io.Reader) error {
		var err error
		out, err = concern.Read(body, hosts)
		return err
	})
	return out, err
}

// classes sorts the connected proxies into scope classes. Of each class it
// picks the proxy that was sent the newest configuration, since one that is
// behind may not show yet what the others have.
func (p *Prover) classes(snap Snapshot) (map[concern.Class]representative, map[string]concern.Class) {
	pods := make(map[string]census.Pod, len(snap.Pods))
	for _, pod := range snap.Pods {
		pods[pod.Proxy()] = pod
	}
	classes := map[concern.Class]representative{}
	members := map[string]concern.Class{}
	for _, r := range p.state.replicas {
		for _, c := range r.reading.Connections {
			if ignored(c, p.cfg.Place.Namespace) {
				continue
			}
			class := concern.ClassOfUnknown(c.Proxy)
			if pod, ok := pods[c.Proxy]; ok {
				class = concern.ClassOf(pod, snap.Scopes[pod.Namespace])
			}
			class += concern.Class("@" + r.pod.UID)
			members[c.Proxy] = class
			sent := sentOf(c)
			if best, ok := classes[class]; !ok || sent > best.sent || sent == best.sent && c.Proxy < best.proxy {
				classes[class] = representative{class: class, proxy: c.Proxy, replica: r, sent: sent}
			}
		}
	}
	return classes, members
}

func sentOf(c syncz.Connection) uint64 {
	return max(c.Routes.Sent.Version.Counter, c.Clusters.Sent.Version.Counter)
}

// due returns the classes to read now, active targets' first.
func (p *Prover) due(classes map[concern.Class]representative, targets []Target) []representative {
	now := time.Now()
	var out []representative
	for class, r := range classes {
		read := false
		for _, t := range targets {
			if p.needs(class, t, now) {
				read = true
				r.urgent = r.urgent || t.Active
			}
		}
		if read {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b representative) int {
		if a.urgent != b.urgent {
			if a.urgent {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.proxy, b.proxy)
	})
	return out[:min(len(out), maxDumps)]
}

// needs tells whether the class must be read (again) for the target.
func (p *Prover) needs(class concern.Class, t Target, now time.Time) bool {
	reach, ok := p.reach(class, t)
	if !ok {
		return true
	}
	if p.young(class, t, reach) && !now.Before(p.state.known[t.Key()].carried.at.Add(dumpSettles)) {
		return true
	}
	complete := reach.Weighted() && reach.Unweighted() == ""
	return t.Active && !complete && now.Sub(p.state.dumps.byClass[class].at) > dumpAgain
}

// young tells whether reach, which the class's dump shows, lacks routes of ours
// and may do so only because the dump was made too soon.
func (p *Prover) young(class concern.Class, t Target, reach concern.Reach) bool {
	carried := p.state.known[t.Key()].carried.at
	return t.hasRoutes() && !reach.Weighted() && !carried.IsZero() &&
		p.state.dumps.byClass[class].at.Before(carried.Add(dumpSettles))
}

// reach tells how proxies of the class reach the target, if that is known. A
// dump counts when it was made after every replica served what is wanted.
func (p *Prover) reach(class concern.Class, t Target) (concern.Reach, bool) {
	d, ok := p.state.dumps.byClass[class]
	carried := p.state.known[t.Key()].carried.at
	if !ok || d.at.Before(carried) {
		return concern.Reach{}, false
	}
	var out concern.Reach
	for _, h := range t.Hosts {
		if !d.hosts[h] {
			return concern.Reach{}, false
		}
		out = out.Merge(d.reach[h])
	}
	return out, true
}

func setOf(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, e := range list {
		out[e] = true
	}
	return out
}

// refused tells whether a canary's failure is a refusal of its identity.
func refused(err error) bool { return errors.Is(err, canary.ErrNoAccess) }
