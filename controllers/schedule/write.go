// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// writesAtOnce is how many workloads of a pass are written side by side: an API server stores writes that come together
// nearly as fast as one.
const writesAtOnce = 8

// outgoing is what a pass has to write of one workload, and what came of it.
type outgoing struct {
	entry  *entry
	answer *answer // nil: nothing was decided about it
	result result
	failed error
}

// write writes what came of a pass, and returns when the next is due without an event. One workload that cannot be written
// holds up no other.
func (r *Reconciler) write(ctx context.Context, in *input, answers map[types.NamespacedName]*answer) (time.Duration, error) {
	var again time.Duration
	soon := func(d time.Duration) {
		if again == 0 || d < again {
			again = d
		}
	}
	var all []outgoing
	for _, e := range in.entries {
		a := answers[e.key()]
		if a != nil {
			r.owed[e.key()] = a.why // until it is written
		}
		if a != nil && a.refresh != "" {
			soon(hub.SoonAgain)
			continue
		}
		target := e.binding.Spec.Clusters
		if a != nil {
			target = a.clusters(target)
		}
		all = append(all, outgoing{entry: e, answer: a, result: resultOf(e, a, planOf(e, target, in), in.now)})
	}
	r.applyAll(ctx, all)
	var failed []error
	versions, unseen := versionsOf(in.views), unseen(in.views)
	for i := range all {
		o := &all[i]
		key := o.entry.key()
		switch {
		case apierrors.IsConflict(o.failed) || apierrors.IsNotFound(o.failed):
			// Somebody else wrote it, and that is an event; or it is gone.
			soon(hub.SoonAgain)
			continue
		case o.failed != nil:
			failed = append(failed, fmt.Errorf("ResourceBinding %s: %w", key, o.failed))
			continue
		}
		if o.answer != nil {
			delete(r.owed, key)
			r.remember(o.entry, o.answer, versions, in.now)
		}
		if m := r.known[key]; m != nil {
			soon(o.entry.next(m, unseen, in.now))
		}
	}
	return again, errors.Join(failed...)
}

// applyAll writes workloads side by side, and returns when all were tried.
func (r *Reconciler) applyAll(ctx context.Context, all []outgoing) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, writesAtOnce)
	for i := range all {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			all[i].failed = r.apply(ctx, all[i].entry, &all[i].result)
		})
	}
	wg.Wait()
}

// part is what of a spec this controller writes.
type part struct {
	Clusters []v1alpha1.BindingCluster  `json:"clusters,omitempty"`
	Plan     []v1alpha1.ClusterReplicas `json:"plan,omitempty"`
	Lowered  []string                   `json:"lowered,omitempty"`
}

// apply writes the decision and the plan on top of the version that was read, then what there is to say about them.
func (r *Reconciler) apply(ctx context.Context, e *entry, out *result) error {
	b := e.binding
	name := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	version := b.ResourceVersion
	if !equality.Semantic.DeepEqual(out.clusters, b.Spec.Clusters) || !equality.Semantic.DeepEqual(out.plan, b.Spec.Plan) ||
		!equality.Semantic.DeepEqual(out.lowered, b.Spec.Lowered) {
		if _, err := hub.ApplySpec(ctx, r.Client, FieldManager, name, version, part{out.clusters, out.plan, out.lowered}); err != nil {
			return fmt.Errorf("write decision and plan: %w", err)
		}
		version = "" // that was on top of what was read, and what goes with it must not be lost to who writes in between
	}
	before := ownPart(b)
	if equality.Semantic.DeepEqual(out.status, before) {
		return nil
	}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, name, version, out.status); err != nil {
		return fmt.Errorf("write what was decided: %w", err)
	}
	r.tell(e, out, before.Conditions)
	return nil
}
