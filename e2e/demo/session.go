// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/rig"
)

// Where the application and its clients are, in every cluster.
const (
	Namespace = namespace
	Service   = serverName
	Replicas  = replicas
)

// The workload that weir divides, where a session has one, and its replicas over
// all clusters.
const (
	Web         = webName
	WebReplicas = webReplicas
)

// Host is what clients outside ask ingress gateways for.
const Host = serverName + ".demo.test"

// Session is the demo's application on a fleet under a steady load that runs on
// from one test to the next. A test answers for the requests that were sent
// while it ran. It is for one goroutine at a time.
type Session struct {
	stage    *stage
	end      context.CancelFunc
	watchers errgroup.Group
}

// Open deploys the application, waits until weir holds it, and starts the load.
// Of the options it takes the rate, the seed, where to narrate, and whether weir
// divides a workload too. The load runs until Close, also when ctx ends.
func Open(ctx context.Context, fleet *rig.Fleet, weir *product.Product, o Options) (*Session, error) {
	s, err := newStage(fleet, weir, o, newNarrator(o.Out), 1)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	if err := s.startClients(life); err != nil {
		end()
		return nil, errors.Join(err, s.endOutside())
	}
	session := &Session{stage: s, end: end}
	session.watchers.Go(func() error { return s.measure(life) })
	return session, nil
}

// Federated says whether weir divides a workload beside the application.
func (s *Session) Federated() bool { return s.stage.options.Federated }

// WaitDivided waits until the workload's replicas, and its traffic, are where the
// division wants them.
func (s *Session) WaitDivided(ctx context.Context) error { return s.stage.waitDivided(ctx) }

// Close ends the load.
func (s *Session) Close(ctx context.Context) error {
	err := s.stage.stopClients(ctx)
	s.end()
	return errors.Join(err, s.watchers.Wait())
}

// fateLimit is how long the fate of a request may be unknown: its time-out, and
// what a busy machine adds.
const fateLimit = 20 * time.Second

// KillPods kills all pods of the application in a cluster, sidecars first, and
// waits until they are back. What was in flight at them, and what ingress gateways
// sent meanwhile, is set apart in the account.
func (s *Session) KillPods(ctx context.Context, cluster string) error {
	return s.stage.killPods(ctx, cluster)
}

// Strike strikes, waits until what was struck is back, and sets apart what
// [Session.KillPods] sets apart.
func (s *Session) Strike(ctx context.Context, b Strike) error { return s.stage.strike(ctx, b) }

// Account settles the requests that were sent between two moments. It waits
// until each has been answered or has failed. What failed is lost, unless a kill
// explains it.
func (s *Session) Account(ctx context.Context, from, to time.Time) (load.Account, error) {
	var books load.Books
	err := poll(ctx, fateLimit, func() (bool, error) {
		var all load.Books
		var err error
		if all.Runs, err = readRuns(s.stage.places); err != nil {
			return false, err
		}
		books = all.Between(from.UnixNano(), to.UnixNano())
		return books.Open() == 0, nil
	})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return load.Account{}, err
	}
	ledgers, err := readLedgers(s.stage.ledgerDirs())
	if err != nil {
		return load.Account{}, err
	}
	all := load.Books{Runs: books.Runs, Ledgers: ledgers, Kills: s.stage.kills, Unprotected: s.stage.unprotected}
	if len(all.Kills) > 0 {
		if all.Seen, err = s.stage.seen(ctx); err != nil {
			return load.Account{}, err
		}
	}
	account := load.Settle(all.Between(from.UnixNano(), to.UnixNano()))
	share := s.stage.contention.worst(load.Span{From: from.UnixNano(), To: to.UnixNano()})
	account.Starved = append(account.Starved, starvedProxies(share)...)
	return account, nil
}

// Arrivals counts the requests that reached the application in each cluster
// between two moments.
func (s *Session) Arrivals(from, to time.Time) (map[string]int, error) {
	ledgers, err := readLedgers(s.stage.ledgerDirs())
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for cluster, series := range load.Arrivals(ledgers, from.UnixNano(), to.Sub(from)) {
		if len(series) > 0 {
			counts[cluster] = series[0]
		}
	}
	return counts, nil
}

// Scale sets the application's replicas in a cluster and waits until they are
// ready.
func (s *Session) Scale(ctx context.Context, cluster string, n int) error {
	return s.stage.scale(ctx, cluster, n)
}

// Restart replaces the application's pods in a cluster as kubectl rollout restart
// does, and waits until all are new and ready.
func (s *Session) Restart(ctx context.Context, cluster string) error {
	c, err := s.stage.fleet.Cluster(cluster)
	if err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339))
	_, err = client.AppsV1().Deployments(namespace).Patch(ctx, serverName, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("cluster %q: restart %s: %w", cluster, serverName, err)
	}
	return c.WaitDeployment(ctx, namespace, serverName, readyLimit)
}

// Pods lists the application's pods in a cluster.
func (s *Session) Pods(ctx context.Context, c *rig.Cluster) ([]corev1.Pod, error) {
	return listPods(ctx, c, serverName)
}

// Client names the pod of the client that runs in a cluster.
func (s *Session) Client(ctx context.Context, c *rig.Cluster) (string, error) {
	pods, err := listPods(ctx, c, clientName)
	if err != nil {
		return "", err
	}
	if len(pods) != 1 {
		return "", fmt.Errorf("cluster %q: %d pods of the client, want 1", c.Name, len(pods))
	}
	return pods[0].Name, nil
}
