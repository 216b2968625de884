// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/suite"
)

// The hub and a member do not hear each other for a minute and a half, while traffic between members goes on. A member that
// nobody hears is suspect after three missed beats, half a minute, counts as dead or cut off half a minute later, and as healthy
// again only when contact has lasted for a minute.
const (
	cutFor    = 90 * time.Second
	cutSaid   = 85 * time.Second
	cutMended = 2 * time.Minute
)

func TestALinkThatIsCutForOverAMinuteLeavesAViewWithItsAgeWhichRecoversByItself(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		hub := c.Fleet.Hub().Name
		c.Undo(func(ctx context.Context) error { return c.Fleet.Unpart(ctx, hub, "c3") })
		cut := time.Now()
		if err := c.Fleet.Part(ctx, hub, "c3"); err != nil {
			return err
		}
		var said v1alpha1.Cluster
		err := c.Until(ctx, cutSaid, "c3 to be Unknown, with the time of its view", func(ctx context.Context) (string, error) {
			var err error
			said, err = c.Weir.Member(ctx, "c3")
			return notSaid(&said), err
		})
		if err != nil {
			return err
		}
		healthy := meta.FindStatusCondition(said.Status.Conditions, v1alpha1.ConditionHealthy)
		c.Logf("%s after the cut: %s: %s", time.Since(cut).Round(time.Second), healthy.Reason, healthy.Message)
		c.Undo(func(ctx context.Context) error { return c.Fleet.Hub().Delete(ctx, big) })
		if err := c.Fleet.Hub().Apply(ctx, big); err != nil {
			return err
		}
		if _, err := placed(ctx, c, "c3"); err != nil {
			return err
		}
		err = c.Throughout(ctx, cutFor-time.Since(cut), func(context.Context) (string, error) { return "", nil })
		if err != nil {
			return err
		}
		if err := c.Fleet.Unpart(ctx, hub, "c3"); err != nil {
			return err
		}
		mended := time.Now()
		b, err := placedAgain(ctx, c)
		if err != nil {
			return err
		}
		now, err := c.Weir.Member(ctx, "c3")
		if err != nil {
			return err
		}
		if v := now.Status.View; v == nil || v.TrueAt == nil || !v.TrueAt.After(said.Status.View.TrueAt.Time) {
			return fmt.Errorf("the view was true at %+v, and is said to be so still: %+v", said.Status.View, now.Status.View)
		}
		c.Logf("c3 had replicas by its new view %s after the link was whole", time.Since(mended).Round(time.Second))
		return noneWaits(ctx, c, b)
	})
}

// notSaid says what is missing until a member that is not heard is said to be Unknown, by a view that says when it was true.
func notSaid(m *v1alpha1.Cluster) string {
	healthy := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionHealthy)
	switch {
	case healthy == nil || healthy.Status != metav1.ConditionUnknown:
		return fmt.Sprintf("it is %+v", healthy)
	case m.Status.View == nil || m.Status.View.TrueAt == nil:
		return "its view has no time"
	}
	return ""
}

// placedAgain waits until big has replicas in c3 too, which it gets only when that counts as healthy again.
func placedAgain(ctx context.Context, c *suite.Case) (v1alpha1.ResourceBinding, error) {
	var b v1alpha1.ResourceBinding
	err := c.Until(ctx, cutMended, "c3 to get replicas", func(ctx context.Context) (string, error) {
		var err error
		if b, err = placed(ctx, c, ""); err != nil {
			return err.Error(), nil //nolint:nilerr // Not yet; the limit ends the wait.
		}
		return "", nil
	})
	return b, err
}
