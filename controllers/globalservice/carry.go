// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
)

// repeatAfter is how long an order that was carried out is taken to stand. After it the member is read again, so that
// an object somebody deleted comes back.
const repeatAfter = 30 * time.Second

// doneOrder remembers an order that was carried out.
type doneOrder struct {
	hash string
	at   time.Time
}

// carry gives every member its order, save those whose last one was the same a moment ago.
func (r *Reconciler) carry(ctx context.Context, in *input, out outcome) failures {
	if out.blocked() {
		return failures{}
	}
	var due []order
	hashes := map[string]string{}
	r.mu.Lock()
	for _, o := range out.orders {
		key, hash := in.key.String()+"@"+o.member.name, hashOf(o)
		hashes[o.member.name] = hash
		if d, ok := r.done[key]; !ok || d.hash != hash || in.now.Sub(d.at) > repeatAfter || len(o.labels) > 0 {
			due = append(due, o)
		}
	}
	r.mu.Unlock()
	failed := r.applyAll(ctx, in, due)
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, why := range failed.standIns {
		r.noteStandIn(in, name, why)
	}
	for _, o := range due {
		key := in.key.String() + "@" + o.member.name
		if err := errors.Join(failed.rules[o.member.name], failed.exports[o.member.name]); err != nil {
			delete(r.done, key)
			logf.FromContext(ctx).Error(err, "write to member", "cluster", o.member.name)
			continue
		}
		r.done[key] = doneOrder{hashes[o.member.name], in.now}
	}
	for name, why := range out.held {
		if failed.rules[name] == nil { // what went wrong is said before what is only waited for
			failed.rules[name] = why
		}
	}
	return failed
}

// hashOf tells orders apart. An order in a cluster that was registered anew, or at another address, is another one: what was
// done in the one before it says nothing of it.
func hashOf(o order) string {
	var others []any
	for _, x := range o.others {
		object := x.object.DeepCopy().Object
		others = append(others, member.Timeless(object))
	}
	raw, err := json.Marshal([]any{o.member.cluster.UID, o.member.cluster.Generation, o.rules, fmt.Sprint(o.remove), o.fence, o.member.facts.GetSelector(), others})
	if err != nil {
		return "" // never equal to a hash that was kept
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// tell makes an event of each condition that turned.
func (r *Reconciler) tell(in *input, before, after ownedStatus) {
	for _, c := range after.Conditions {
		old := meta.FindStatusCondition(before.Conditions, c.Type)
		if old != nil && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status == "False" {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(in.service, nil, kind, c.Reason, c.Type, "%s", c.Message)
	}
	if becameProven(before.Weights, after.Weights) {
		r.proofSpan(in, "weights", after.Weights)
	}
	if becameProven(before.Fence, after.Fence) {
		r.proofSpan(in, "fence", after.Fence)
	}
}

// becameProven says whether a generation is proven that was not before; generation 0 is nothing to prove.
func becameProven(before, after v1alpha1.ProofStatus) bool {
	return after.Level == v1alpha1.ProofProven && after.Generation > 0 &&
		(before.Level != v1alpha1.ProofProven || before.Generation != after.Generation)
}

// proofSpan puts a proof into the trace of the move it serves, from the step that asked for it on.
func (r *Reconciler) proofSpan(in *input, what string, p v1alpha1.ProofStatus) {
	d := drainOf(in)
	if d == nil || len(in.service.Status.Steps) == 0 {
		return
	}
	asked := in.service.Status.Steps[len(in.service.Status.Steps)-1].StartedAt.Time
	r.Tracer.Proof(d, what, asked, in.now, p.Generation)
}

func sortedKeys(m map[string]error) []string { return slices.Sorted(maps.Keys(m)) }

func dedupe(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}
