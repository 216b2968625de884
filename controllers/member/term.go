// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weir-io/weir/api/v1alpha1"
)

// ErrNotHeld says that weir may not write to a member, since its epoch was not taken there. All such errors are *HoldError.
var ErrNotHeld = errors.New("the epoch is not held")

// HoldError says why a hub may not write to a member, with the way out.
type HoldError struct {
	Cluster string
	// Reason is one of v1alpha1.ReasonOtherHub, ReasonNewerLeader and ReasonEpochNotTaken.
	Reason  string
	Message string
}

func (e *HoldError) Error() string { return fmt.Sprintf("cluster %q: %s", e.Cluster, e.Message) }

// Is makes every HoldError an ErrNotHeld.
func (*HoldError) Is(target error) bool { return target == ErrNotHeld }

// Record keeps, on the hub, the highest epoch that any of its leaders has taken.
type Record interface {
	// Raise takes an epoch above floor and above all that were taken before, and returns it. Held is the one that the
	// caller has, 0: none yet. It returns 0 where another leader has taken one since.
	Raise(ctx context.Context, held, floor int64) (int64, error)
}

// Term is the time for which one process leads the hub: its identity and its epoch. It begins with the first member that
// is opened: what all members hold is read before anything is written in any. It is safe for concurrent use.
type Term struct {
	hubUID string
	record Record
	turn   chan struct{} // who begins it, or raises its epoch, holds this
	epoch  atomic.Int64
}

// NewTerm returns a term that has not begun. HubUID is the UID of the hub's namespace kube-system.
func NewTerm(hubUID string, record Record) *Term {
	return &Term{hubUID: hubUID, record: record, turn: make(chan struct{}, 1)}
}

// Epoch of the term; 0: it has not begun.
func (t *Term) Epoch() int64 { return t.epoch.Load() }

func (t *Term) enter(ctx context.Context) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *Term) leave() { <-t.turn }

// above makes the epoch of the term higher than what was found. It reports whether the term still is the hub's.
func (t *Term) above(ctx context.Context, found int64) (bool, error) {
	if err := t.enter(ctx); err != nil {
		return false, err
	}
	defer t.leave()
	if t.Epoch() > found {
		return true, nil
	}
	return t.raise(ctx, found)
}

// raise is for who has the turn.
func (t *Term) raise(ctx context.Context, floor int64) (bool, error) {
	epoch, err := t.record.Raise(ctx, t.Epoch(), floor)
	if err != nil {
		return false, fmt.Errorf("take an epoch above %d: %w", floor, err)
	}
	if epoch == 0 {
		return false, nil
	}
	t.epoch.Store(epoch)
	return true, nil
}

// leap is how far above the last epoch that is on record on the hub a member is followed: a hub that was restored from a
// backup has had fewer leaders since. What is beyond was written by nobody that led, and a member that could say any number
// would soon say one above which there is none, for all members.
const leap = 1_000_000

const (
	// sweepAtOnce is how many members are read at once when a term begins.
	sweepAtOnce = 32
	// sweepTime is for how long: nothing is written in any member before that is over, and in a fleet of which a part is off
	// there are many that do not answer.
	sweepTime = 2 * probeTimeout
)

// begin takes the epoch of the term, above those of all members that answer. One that does not answer now is compared when
// it does, before anything is written there.
func (d *Door) begin(ctx context.Context) error {
	if d.term.Epoch() > 0 {
		return nil
	}
	if err := d.term.enter(ctx); err != nil {
		return err
	}
	defer d.term.leave()
	if d.term.Epoch() > 0 {
		return nil
	}
	var list v1alpha1.ClusterList
	if err := d.hub.List(ctx, &list); err != nil {
		return fmt.Errorf("list Clusters: %w", err)
	}
	epoch, err := d.term.record.Raise(ctx, 0, 0)
	if err != nil {
		return fmt.Errorf("take an epoch: %w", err)
	}
	if found := d.highest(ctx, list.Items, epoch+leap); found >= epoch {
		epoch, err = d.term.record.Raise(ctx, epoch, found)
		switch {
		case err != nil:
			return fmt.Errorf("take an epoch above %d: %w", found, err)
		case epoch == 0:
			return errors.New("another leader of the hub took an epoch at the same time")
		}
	}
	d.term.epoch.Store(epoch)
	return nil
}

// highest is the highest epoch of this hub that any member holds which answers in time, of those up to limit.
func (d *Door) highest(ctx context.Context, clusters []v1alpha1.Cluster, limit int64) int64 {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		out   int64
		slots = make(chan struct{}, sweepAtOnce)
	)
	ctx, cancel := context.WithTimeout(ctx, d.sweep)
	defer cancel()
	for i := range clusters {
		wg.Go(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return
			}
			m, err := d.Reach(ctx, &clusters[i])
			if err != nil {
				return
			}
			timed, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			found, _, err := m.epoch(timed)
			if err != nil || found == nil || found.HubUID != d.term.hubUID || found.Epoch > limit {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = max(out, found.Epoch)
		})
	}
	wg.Wait()
	return out
}
