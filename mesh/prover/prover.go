// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package prover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/weir-io/weir/mesh/prover/canary"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/quiet"
	"github.com/weir-io/weir/mesh/prover/syncz"
)

// Bounds and paces that no one needs to set.
const (
	// maxTargets bounds the services that are watched.
	maxTargets = 5000
	// settle is how long after a canary's news the first look waits, so that
	// proxies, which get the same push, have had time to acknowledge it.
	settle = 30 * time.Millisecond
	// eager is the pace of looking while proxies are about to acknowledge, and
	// eagerFor how long that lasts after the canary's news.
	eager    = 150 * time.Millisecond
	eagerFor = 3 * time.Second
	// calm is the pace at which news are looked at while nothing is active.
	calm = 5 * time.Second
	// skew is by how much the clocks of the API server and of this machine
	// may differ.
	skew = 5 * time.Second
	// readTimeout bounds each question to istiod and to a sidecar.
	readTimeout = 2 * time.Second
)

// Config is what a Prover needs. Cluster, Credentials and Place must be set.
type Config struct {
	Cluster     Cluster
	Credentials Credentials
	// Place is where the prover runs. Its Namespace must be Istio's system
	// namespace, which the token is of.
	Place canary.Place
	// Rules are the constants of judging; the zero value means DefaultRules.
	Rules Rules
	// ServerName is the name in istiod's certificate; empty means
	// istiod.NAMESPACE.svc, which each revision's certificate has.
	ServerName string
	// ActiveInterval is the pace of reading while any target is active, and
	// IdleInterval while none is; 0 means 1 s and 30 s.
	ActiveInterval, IdleInterval time.Duration
	// QuietInterval is the time between two scrapes of a pod; 0 means 1 s.
	QuietInterval time.Duration
	// StatsPort is the port of a sidecar's statistics; 0 means 15090.
	StatsPort int
	// Log takes transitions and failures; nil drops them.
	Log *slog.Logger
}

// Prover watches targets until its Run ends. All methods are safe for use from
// several goroutines.
type Prover struct {
	cfg   Config
	debug *syncz.Client
	// plain asks sidecars. No proxy is used and no redirect followed, since
	// every question goes to one address that was meant.
	plain *http.Client

	wake    chan struct{} // new targets
	news    chan struct{} // a canary knows more or less
	changed chan struct{}

	mu       sync.Mutex
	targets  []Target
	verdicts map[Key]Verdict
	tracker  quiet.Tracker
	// pods are those that the last snapshot showed, and chosen those of them
	// that are measured for each active target.
	pods   []census.Pod
	chosen map[Key]map[quiet.ID]bool

	// The rest belongs to the goroutine of Run.
	state loopState
}

// ErrTooManyTargets means that Watch was handed more than can be watched.
var ErrTooManyTargets = errors.New("more services than the prover can watch")

// New makes a prover that does nothing until Run.
func New(cfg Config) (*Prover, error) {
	if cfg.Cluster == nil || cfg.Credentials == nil {
		return nil, errors.New("prover: Cluster and Credentials must be set")
	}
	if !cfg.Place.IP.IsValid() || cfg.Place.Namespace == "" || cfg.Place.Name == "" {
		return nil, errors.New("prover: Place needs a name, a namespace and an address")
	}
	defaultTo(&cfg.Rules, DefaultRules())
	defaultTo(&cfg.ServerName, "istiod."+cfg.Place.Namespace+".svc")
	defaultTo(&cfg.ActiveInterval, time.Second)
	defaultTo(&cfg.IdleInterval, 30*time.Second)
	defaultTo(&cfg.QuietInterval, time.Second)
	defaultTo(&cfg.StatsPort, 15090)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	plain := &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return &Prover{
		cfg:      cfg,
		debug:    &syncz.Client{HTTP: plain, Token: cfg.Credentials.Token, Timeout: readTimeout},
		plain:    plain,
		wake:     make(chan struct{}, 1),
		news:     make(chan struct{}, 1),
		changed:  make(chan struct{}, 1),
		verdicts: map[Key]Verdict{},
	}, nil
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Watch replaces the targets. What was known of a target that stays is kept as
// far as its questions stay the same. Two targets of one name are refused.
func (p *Prover) Watch(targets []Target) error {
	if len(targets) > maxTargets {
		return fmt.Errorf("%w: %d, at most %d", ErrTooManyTargets, len(targets), maxTargets)
	}
	seen := make(map[Key]bool, len(targets))
	for _, t := range targets {
		if seen[t.Key()] {
			return fmt.Errorf("prover: service %s is given twice", t.Key())
		}
		seen[t.Key()] = true
	}
	p.mu.Lock()
	p.targets = slices.Clone(targets)
	for k := range p.verdicts {
		if !seen[k] {
			delete(p.verdicts, k)
		}
	}
	p.mu.Unlock()
	signal(p.wake)
	return nil
}

// Verdicts returns the newest verdict of each target that was judged at least
// once, sorted by name. The answer is the caller's.
func (p *Prover) Verdicts() []Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Verdict, 0, len(p.verdicts))
	for _, t := range p.targets {
		v, ok := p.verdicts[t.Key()]
		if !ok {
			continue
		}
		of := p.chosen[t.Key()]
		v.Quiet = p.tracker.Pods(func(id quiet.ID) bool { return of[id] })
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Verdict) int { return compareKeys(a.Target, b.Target) })
	return out
}

// Changed receives after verdicts have changed, at most one value at a time.
// Only one receiver gets each.
func (p *Prover) Changed() <-chan struct{} { return p.changed }

// Run asks and judges until ctx ends, then closes all connections and returns.
// It must be called once.
func (p *Prover) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { p.measure(ctx) })
	p.loop(ctx)
	wg.Wait()
	p.plain.CloseIdleConnections()
}

// loop runs round after round, at the pace that each asks for.
func (p *Prover) loop(ctx context.Context) {
	p.state = newLoopState()
	defer p.state.close()
	for ctx.Err() == nil {
		next := p.round(ctx)
		p.sleep(ctx, next)
	}
}

// pace is when the next round is due.
type pace struct {
	after time.Duration
	// news is how long news of a canary wait.
	news time.Duration
}

// sleep waits until the next round is due.
func (p *Prover) sleep(ctx context.Context, next pace) {
	timer := time.NewTimer(next.after)
	defer timer.Stop()
	began := time.Now()
	news := p.news
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-p.wake:
			return
		case <-news:
			p.state.newsAt = time.Now()
			news = nil
			// A round that is due earlier stays so.
			if left := next.after - time.Since(began); next.news < left {
				timer.Reset(next.news)
			}
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
