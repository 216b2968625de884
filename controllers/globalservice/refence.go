// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// noteOpened writes down when ready pods were last seen without a fence that the plan wants on them, and forgets it when
// the fence was proven since. The labels come back at once and without a step, so nothing else would tell that what was
// proven before says nothing of these pods now: proxies may still hold them.
func noteOpened(clusters []v1alpha1.GlobalServiceClusterStatus, spec v1alpha1.GlobalServiceSpec, fence v1alpha1.ProofStatus, now time.Time) {
	plans := map[string]v1alpha1.GlobalServiceCluster{}
	for _, p := range spec.Clusters {
		plans[p.Name] = p
	}
	for i := range clusters {
		c, plan := &clusters[i], plans[clusters[i].Name]
		switch {
		case plan.NewPods != v1alpha1.PodsFenced:
			c.RefencedAt = nil
		case c.Sight == v1alpha1.SightSeen && c.Fenced < min(c.Ready, plan.FencedPods):
			at := hub.Time(now)
			c.RefencedAt = &at
		case c.RefencedAt != nil && provenSince(fence, spec.FenceGeneration, *c.RefencedAt):
			c.RefencedAt = nil
		}
	}
}

// provenSince compares whole seconds, so of the same second nothing counts as later.
func provenSince(p v1alpha1.ProofStatus, generation int64, since metav1.Time) bool {
	return p.Generation == generation && (p.Level == v1alpha1.ProofProven || p.Level == v1alpha1.ProofTimed) &&
		p.SeenAt != nil && p.SeenAt.After(since.Time)
}
