// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// changed returns the services whose facts changed in a member; all of them where something of a member itself did.
func (r *Reconciler) changed(ctx context.Context, changes []stream.Change) []reconcile.Request {
	var out []reconcile.Request
	whole := false
	for _, c := range changes {
		if c.Service == (types.NamespacedName{}) {
			whole = true
			continue
		}
		out = append(out, reconcile.Request{NamespacedName: c.Service})
	}
	if whole {
		out = append(out, r.all(ctx)...)
	}
	return out
}

// targetSet is what is wanted of the provers for one service.
type targetSet struct{ target *pb.Target }

// sendTargets hands every member the whole list; the server sends it on only where it changed. The lock is held. A hub
// that has just started must not ask for less than was asked before, so it asks when it has looked at every service: at
// this one now, and at others to the end.
func (r *Reconciler) sendTargets(in *input) {
	r.looked[in.key] = true
	for _, key := range in.all {
		if !r.looked[key] {
			return
		}
	}
	keys := make([]types.NamespacedName, 0, len(r.targets))
	for key := range r.targets {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, snap := range r.Members.Snapshots() {
		list := make([]*pb.Target, 0, len(keys))
		for _, key := range keys {
			list = append(list, proto.CloneOf(r.targets[key].target))
		}
		if err := r.Members.SetTargets(snap.Cluster, list); err != nil {
			logf.Log.WithName("globalservice").Error(err, "set targets", "cluster", snap.Cluster)
		}
	}
}

// markLooked notes that a service was looked at, whatever came of it: one that fails must not keep the others from being
// proven. It is noted at the end: while the service waits for a member, what is asked for it is not known yet.
func (r *Reconciler) markLooked(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked[key] = true
}
