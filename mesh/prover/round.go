// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

// loopState is what rounds hand on to each other.
type loopState struct {
	replicas map[string]*replica // by pod UID and process
	known    map[Key]*known
	dumps    dumps
	newsAt   time.Time
	took     time.Duration // by the last round's reading
}

// known is what is remembered of one target.
type known struct {
	memory Memory
	asked  Asked
	asks   [3]string // the questions that asked are of
	// settled is since when every replica serves all that is wanted, carried
	// since when every one serves the routes and rules that are.
	settled, carried since
	// judged is when the target was judged last, as target.
	judged time.Time
	target Target
}

// since is a time from which on something was so all along, for one question
// and one set of streams.
type since struct {
	of string
	at time.Time
}

// note takes in whether it is so now.
func (s *since) note(so bool, of string, now time.Time) {
	switch {
	case !so:
		*s = since{}
	case s.at.IsZero() || s.of != of:
		*s = since{of: of, at: now}
	}
}

// replica is one istiod process and the canary on it.
type replica struct {
	pod     IstiodPod
	canary  *canary.Canary
	stop    context.CancelFunc
	done    chan struct{}
	reading Reading
	fault   ReasonCode
	// version is the istiod's, as it told on the stream versionOf.
	version   string
	versionOf uint64
}

func newLoopState() loopState {
	return loopState{replicas: map[string]*replica{}, known: map[Key]*known{}, dumps: newDumps()}
}

func (s *loopState) close() {
	for _, r := range s.replicas {
		r.stop()
	}
	for _, r := range s.replicas {
		<-r.done
	}
}

// round looks once at everything, judges every target, and tells when to look
// again.
func (p *Prover) round(ctx context.Context) pace {
	began := time.Now()
	p.mu.Lock()
	all := p.targets
	p.mu.Unlock()
	snap, err := p.snapshot(ctx)
	if err != nil {
		p.cfg.Log.Warn("can not list the member's pods", "error", err)
	} else {
		p.reconcile(ctx, snap.Istiods, all)
		p.mu.Lock()
		p.pods = snap.Pods
		p.mu.Unlock()
	}
	p.readAll(ctx)
	targets := p.dueTargets(began, all)
	views := p.view(targets)
	p.readDumps(ctx, snap, all, targets, views)
	if ctx.Err() != nil {
		return pace{}
	}
	now := time.Now()
	p.state.took = now.Sub(began)
	fresh := make(map[Key]Verdict, len(targets))
	next := p.calmPace(all)
	for i, t := range targets {
		k := p.state.known[t.Key()]
		o := p.observe(now, t, snap, err == nil, views[i])
		var v Verdict
		v, k.memory = Evaluate(p.cfg.Rules, o, k.memory)
		k.judged, k.target = began, t
		fresh[t.Key()] = v
		if t.Active {
			next.after = min(next.after, p.wait(now, v, k.memory))
		}
	}
	p.publish(fresh)
	return next
}

// dueTargets returns the targets to judge now: those that are active or have
// changed, and the others at the pace of rest, however fast a shift elsewhere
// makes the rounds.
func (p *Prover) dueTargets(now time.Time, all []Target) []Target {
	var out []Target
	for _, t := range all {
		k := p.state.known[t.Key()]
		if k == nil {
			k = &known{}
			p.state.known[t.Key()] = k
		}
		rested := now.Sub(k.judged) >= p.cfg.IdleInterval || p.state.newsAt.After(k.judged) && now.Sub(k.judged) >= calm
		if t.Active || rested || !reflect.DeepEqual(t, k.target) {
			out = append(out, t)
		}
	}
	return out
}

func (p *Prover) snapshot(ctx context.Context) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return p.cfg.Cluster.Snapshot(ctx)
}

// reconcile keeps one canary on each istiod process, and subscribes all of
// them to what the targets need.
func (p *Prover) reconcile(ctx context.Context, pods []IstiodPod, targets []Target) {
	routes, clusters := subscriptions(targets)
	wanted := make(map[string]bool, len(pods))
	for _, pod := range pods {
		id := pod.UID + "/" + pod.Process + "/" + pod.XDS
		wanted[id] = true
		r, ok := p.state.replicas[id]
		if !ok {
			r = p.start(ctx, pod)
			p.state.replicas[id] = r
			p.cfg.Log.Info("watching an istiod", "istiod", pod.Name, "uid", pod.UID)
		}
		r.pod = pod
		r.canary.Subscribe(routes, clusters)
	}
	for id, r := range p.state.replicas {
		if !wanted[id] {
			r.stop()
			<-r.done
			delete(p.state.replicas, id)
			p.cfg.Log.Info("no longer watching an istiod", "istiod", r.pod.Name, "uid", r.pod.UID)
		}
	}
	keys := make(map[Key]bool, len(targets))
	for _, t := range targets {
		keys[t.Key()] = true
	}
	maps.DeleteFunc(p.state.known, func(k Key, _ *known) bool { return !keys[k] })
}

func (p *Prover) start(ctx context.Context, pod IstiodPod) *replica {
	ctx, stop := context.WithCancel(ctx)
	r := &replica{pod: pod, stop: stop, done: make(chan struct{})}
	r.canary = canary.New(pod.XDS, p.cfg.Place.Node(), func() { signal(p.news) },
		dialOptions(p.cfg.Credentials, p.cfg.ServerName)...) //nolint:contextcheck // a handshake has no context of its own.
	go func() {
		defer close(r.done)
		r.canary.Run(ctx)
	}()
	return r
}

// readAll reads the proxies of every replica, all at once.
func (p *Prover) readAll(ctx context.Context) {
	var wg sync.WaitGroup
	for _, r := range p.state.replicas {
		wg.Go(func() { p.read(ctx, r) })
	}
	wg.Wait()
}

func (p *Prover) read(ctx context.Context, r *replica) {
	began := time.Now()
	list, err := p.debug.Syncz(ctx, r.pod.Debug)
	if err != nil {
		fault := faultOf(err)
		if fault != r.fault {
			p.cfg.Log.Warn("can not read an istiod", "istiod", r.pod.Name, "reason", string(fault), "error", err)
		}
		r.fault = fault
		return
	}
	reading := Reading{Began: began, Ended: time.Now(), Connections: list}
	own := p.cfg.Place.ProxyName()
	for _, c := range list {
		if c.Proxy != own {
			continue
		}
		for _, s := range []syncz.Status{c.Endpoints, c.Routes} {
			if stream, ok := r.canary.Received(s.Sent.ID); ok {
				reading.Stream = stream
				reading.Canary = c.Endpoints
			}
		}
	}
	if reading.Stream == 0 && r.reading.Stream != 0 {
		// The canary may be about to receive what its row shows. The reading
		// before stands until its lease is over.
		r.fault = ReasonUnbound
		return
	}
	r.fault, r.reading = "", reading
	p.readVersion(ctx, r)
}

// readVersion reads the istiod's version once for each stream. Until it is
// known, the istiod is taken for an older one.
func (p *Prover) readVersion(ctx context.Context, r *replica) {
	if r.version != "" && r.versionOf == r.reading.Stream {
		return
	}
	version, err := p.debug.Version(ctx, r.pod.Debug)
	if err != nil {
		p.cfg.Log.Debug("can not read an istiod's version", "istiod", r.pod.Name, "error", err)
	}
	r.version, r.versionOf = version, r.reading.Stream
}

func faultOf(err error) ReasonCode {
	switch {
	case errors.Is(err, syncz.ErrNoAccess):
		return ReasonNoAccess
	case errors.Is(err, syncz.ErrTooLarge), errors.Is(err, syncz.ErrTooMany):
		return ReasonTooMany
	case isNetwork(err):
		return ReasonUnreachable
	}
	return ReasonUnreadable
}

// calmPace is the pace when no proof is on its way.
func (p *Prover) calmPace(targets []Target) pace {
	if slices.ContainsFunc(targets, func(t Target) bool { return t.Active }) {
		news := settle
		if time.Since(p.state.newsAt) < eagerFor {
			news = p.eager()
		}
		return pace{after: p.cfg.ActiveInterval, news: news}
	}
	return pace{after: p.cfg.IdleInterval, news: min(calm, p.cfg.IdleInterval)}
}

// wait tells how long an active target can wait for the next look: until the
// hold of what agrees is over, or a moment while proxies are acknowledging.
func (p *Prover) wait(now time.Time, v Verdict, m Memory) time.Duration {
	out := p.cfg.ActiveInterval
	for _, c := range []struct {
		proof  Proof
		memory claimMemory
	}{{v.Rules, m.rules}, {v.Weights, m.weights}, {v.Fence, m.fence}} {
		switch {
		case c.proof.Level == LevelProven, c.proof.empty():
		case len(c.proof.Reasons) > 0 && c.proof.Reasons[0].Code == ReasonHold:
			out = min(out, c.memory.heldAt(p.cfg.Rules.Hold).Sub(now)+time.Millisecond)
		case now.Sub(p.state.newsAt) < eagerFor:
			out = min(out, p.eager())
		}
	}
	return max(out, time.Millisecond)
}

// eager is the pace of looking closely. A mesh that takes long to read is
// looked at less often, so that istiod has most of its time for itself.
func (p *Prover) eager() time.Duration { return max(eager, 4*p.state.took) }

// empty tells whether there is nothing to prove.
func (p Proof) empty() bool {
	return len(p.Reasons) == 1 && (p.Reasons[0].Code == ReasonNoRoutes || p.Reasons[0].Code == ReasonNoRules)
}

// heldAt is when all that agrees has done so for the hold.
func (m claimMemory) heldAt(hold time.Duration) time.Time {
	var last time.Time
	for _, t := range m.agreed {
		if t.After(last) {
			last = t
		}
	}
	return last.Add(hold)
}

// publish takes in fresh verdicts of targets that are still watched, and tells
// that they changed, if they did.
func (p *Prover) publish(fresh map[Key]Verdict) {
	p.mu.Lock()
	same := true
	for _, t := range p.targets {
		v, ok := fresh[t.Key()]
		if !ok {
			continue
		}
		before, known := p.verdicts[t.Key()]
		if known {
			p.logChange(before, v)
		}
		same = same && known && reflect.DeepEqual(before, v)
		p.verdicts[t.Key()] = v
	}
	p.mu.Unlock()
	if !same {
		signal(p.changed)
	}
}

func (p *Prover) logChange(before, now Verdict) {
	for _, c := range []struct {
		claim    string
		from, to Proof
	}{{"rules", before.Rules, now.Rules}, {"weights", before.Weights, now.Weights}, {"fence", before.Fence, now.Fence}} {
		if c.from.Level == c.to.Level {
			continue
		}
		args := []any{"service", now.Target.String(), "claim", c.claim, "level", string(c.to.Level), "generation", now.Generation}
		if len(c.to.Reasons) > 0 {
			r := c.to.Reasons[0]
			args = append(args, "reason", string(r.Code), "subject", r.Subject)
		}
		p.cfg.Log.Info("proof changed", args...)
	}
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
