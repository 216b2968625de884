// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
)

// scaler is the autoscaler that stands on the workload; nil: none does.
func (t *task) scaler() *scaler {
	if len(t.scalers) > 0 && t.scalers[0].aims {
		return t.scalers[0]
	}
	return nil
}

// takesLimits says whether a drain takes the replicas that an autoscaler sets.
func (t *task) takesLimits() bool {
	s := t.scaler()
	return s != nil && s.keeper == "" && !s.lent && t.lowered
}

// owner names who sets the replicas of a copy in weir's place; empty: weir does. An autoscaler does nothing to a copy that
// asks for no replicas, so weir takes it there, and brings it back from there. Where limits are to be given back, weir first
// gives back the replicas that it took.
func (t *task) owner(live int32) string {
	s := t.scaler()
	if s == nil {
		return ""
	}
	n := int32(0)
	if t.wish.object != nil {
		n = replicasOf(t.wish.object)
	}
	switch {
	case s.keeper != "":
	case live == 0 && s.off(),
		t.lowered && n == 0,
		!t.lowered && s.kept != nil && live < n:
		return ""
	}
	return s.name()
}

// due is what the limits shall become for a drain; false: they are so.
func (t *task) due(live int32) (limits, lent, bool) {
	s := t.scaler()
	if !t.takesLimits() || live == 0 && s.kept == nil {
		return limits{}, lent{}, false
	}
	want, kept := lower(t.key.Name, s.limits, s.kept, replicasOf(t.wish.object))
	return want, kept, s.kept == nil || !want.equal(s.limits)
}

// takeLimits lowers the limits of an autoscaler for a drain, and keeps what they were, in one write. It reports whether the
// copy may be written next.
func (c *copier) takeLimits(ctx context.Context, m *member.Member, t *task, o *outcome, work *v1alpha1.Work) bool {
	if o.live == nil {
		return true
	}
	want, kept, due := t.due(replicasOf(o.live))
	if !due {
		return true
	}
	if sure, err := c.sure(ctx, m, t, work); err != nil || !sure {
		say(&o.copy, v1alpha1.SyncPending, "", "")
		o.err = err
		return false
	}
	err := c.amend(ctx, m, t.scaler(), want, &kept)
	return c.amended(ctx, t, o, work, err)
}

// giveLimitsBack gives autoscalers the limits back that were taken for a drain, in one write with what was kept of them.
// all: also those of the one that stands on the workload, whatever is planned.
func (c *copier) giveLimitsBack(ctx context.Context, m *member.Member, t *task, all bool) error {
	for _, s := range t.scalers {
		if s.kept == nil || s.aims && t.lowered && !all {
			continue
		}
		err := c.relabel(ctx, m, s)
		if err == nil {
			err = c.amend(ctx, m, s, restored(s.limits, *s.kept), nil)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// relabel puts back the label that somebody took off an autoscaler while its limits were lowered: what bears it neither before
// nor after a write must not be written.
func (c *copier) relabel(ctx context.Context, m *member.Member, s *scaler) error {
	if s.object.GetLabels()[member.LabelLimits] != "" {
		return nil
	}
	return c.change(ctx, m, s, member.Amendment{Labels: map[string]string{member.LabelLimits: member.LabelLimitsValue}})
}

// amend writes limits, and what is kept of them.
func (c *copier) amend(ctx context.Context, m *member.Member, s *scaler, want limits, kept *lent) error {
	change, err := s.amendment(want, kept)
	if err != nil {
		return err
	}
	if err := c.change(ctx, m, s, change); err != nil {
		return err
	}
	s.limits, s.kept = want, kept
	return nil
}

// change makes one write to an autoscaler.
func (c *copier) change(ctx context.Context, m *member.Member, s *scaler, change member.Amendment) error {
	ref := member.Ref{Resource: scalers, Namespace: s.object.GetNamespace(), Name: s.object.GetName()}
	out, err := m.Amend(ctx, FieldManager, ref, s.object, change)
	c.Metrics.count(autoscalers, "write", err)
	if err != nil {
		return err
	}
	s.object = out
	return nil
}

// amended says what came of a write of limits, and reports whether all is well.
func (c *copier) amended(ctx context.Context, t *task, o *outcome, work *v1alpha1.Work, err error) bool {
	switch {
	case err == nil:
		return true
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		say(&o.copy, v1alpha1.SyncPending, "", "") // it changed, or went: the next look is soon.
		return false
	}
	trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, err)
	o.seen = !blind(err)
	if work != nil {
		o.err = c.told(ctx, work, o.copy, nil, "", false)
	}
	return false
}

// sure asks whether what a pass takes away is still wanted. What an older leader wrote down, or what was wanted long ago,
// takes nothing away.
func (c *copier) sure(ctx context.Context, m *member.Member, t *task, work *v1alpha1.Work) (bool, error) {
	sure, err := t.confirm(ctx)
	return sure && reduces(work, m.Epoch(), c.Now()), err
}

// autoscaler is what is said of the autoscaler that stands on the workload; nil: none does.
func (t *task) autoscaler(applied int32) *v1alpha1.MemberAutoscaler {
	s := t.scaler()
	if s == nil {
		return nil
	}
	return &v1alpha1.MemberAutoscaler{Name: hub.Clip(s.name(), maxScalerName), State: s.state(applied)}
}

// maxScalerName is how long the name of an autoscaler may be in a status, with its kind.
const maxScalerName = 300

// scaled says what it means that an autoscaler stands on the workload.
func scaled(row *v1alpha1.MemberCopy, t *task, applied int32) {
	out := t.autoscaler(applied)
	if out == nil {
		return
	}
	n, state := replicasOf(t.wish.object), v1alpha1.SyncSynced
	if n != applied {
		state = v1alpha1.SyncPending
	}
	switch out.State {
	case v1alpha1.AutoscalerOwns:
		say(row, state, v1alpha1.ReasonHPA, fmt.Sprintf(
			"%s in %s owns the replicas: weir shall have %d there and changes nothing, but for a drain, which lowers its limits; delete it, or plan the workload with it in mind",
			out.Name, t.name, n))
	case v1alpha1.AutoscalerOperated:
		say(row, state, v1alpha1.ReasonHPA, fmt.Sprintf(
			"%s in %s owns the replicas, and would undo what weir does to its limits: weir shall have %d there and changes nothing; for a drain, pause it (autoscaling.keda.sh/paused: \"true\") or delete it",
			out.Name, t.name, n))
	case v1alpha1.AutoscalerHeld:
		say(row, state, v1alpha1.ReasonHPA, fmt.Sprintf(
			"the limits of %s in %s are lowered for a drain: they were %s, and come back with the replicas", out.Name, t.name, t.scaler().kept.Own))
	case v1alpha1.AutoscalerOff:
	}
}
