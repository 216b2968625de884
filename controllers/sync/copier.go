// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	stdsync "sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/mesh/mcs"
)

// FieldManager owns copies in members, Works, and what is said of copies in the status of what they are of.
const FieldManager = "weir-sync"

// How long until copies are looked at again without an event.
const (
	lookAgain   = 30 * time.Second // where all is as it shall be
	lookFailing = 10 * time.Second // where a write was refused, or nobody sees into the member
	lookWaiting = 5 * time.Second  // where pods are not ready
	lookMoving  = 2 * time.Second  // where something is on its way, and the next step waits for it
)

// atOnce is how many members are written to at once for one object: a silent one holds a place until its time-out.
const atOnce = 16

// copier does what both reconcilers do in one member.
type copier struct {
	Client client.Client
	// Live reads past the cache: what takes away is not done on a picture that may be old.
	Live     client.Reader
	Door     *member.Door
	Recorder events.EventRecorder
	Now      func() time.Time
	Metrics  *Metrics // nil: none are kept
}

// task is what one pass does in one member.
type task struct {
	key     types.NamespacedName
	cluster *v1alpha1.Cluster // nil: none is registered under the name
	name    string            // of the cluster
	work    *v1alpha1.Work    // nil: nothing is on record
	wish    wish
	keep    bool  // nothing may be written: the wish is not known. What stands is looked at only.
	failed  error // why the wish is not known
	base    int64
	// confirm asks past the cache whether what takes away is still wanted.
	confirm func(context.Context) (bool, error)
	// hold says why a copy that shall go has to stay for now; empty: it may go. whenEmpty: not before its pods are gone.
	hold      string
	whenEmpty bool
	// lowered says that a drain takes the replicas that an autoscaler sets; scalers are those that stand there.
	lowered bool
	scalers []*scaler
}

// outcome is what came of a task.
type outcome struct {
	copy v1alpha1.MemberCopy
	live *unstructured.Unstructured // nil: nothing stands there, or nobody saw
	seen bool
	gone bool // the member holds nothing, and nothing is on record
	// scaler is the autoscaler that stands on the workload; pending is how many pods have no node.
	scaler  *v1alpha1.MemberAutoscaler
	pending int32
	err     error // of the hub's own API server: to be tried again at once
}

// all does the tasks, several at once, and returns the outcomes in the same order.
func (c *copier) all(ctx context.Context, tasks []*task) []outcome {
	out := make([]outcome, len(tasks))
	slots := make(chan struct{}, atOnce)
	var wg stdsync.WaitGroup
	for i, t := range tasks {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i] = c.do(ctx, t)
		})
	}
	wg.Wait()
	return out
}

// do brings one member to hold what it shall, and looks at what it holds.
func (c *copier) do(ctx context.Context, t *task) outcome {
	var o outcome
	if t.cluster == nil {
		// Nothing can be done there. What is on record of it is of no use any more.
		o.gone, o.err = true, c.drop(ctx, t.work)
		return o
	}
	if t.work != nil && !t.work.DeletionTimestamp.IsZero() {
		// Who deletes a record takes away what it placed, whatever the plan says. What is planned is made anew after that.
		t.wish.object, t.keep, t.hold, t.whenEmpty = nil, false, "", false
		t.confirm = func(context.Context) (bool, error) { return true, nil }
	}
	m, err := c.Door.Open(ctx, t.cluster)
	if err != nil {
		return c.unseen(ctx, t, err)
	}
	ref := member.Ref{Resource: t.wish.of.resource, Namespace: t.key.Namespace, Name: t.key.Name}
	live, err := m.Read(ctx, ref)
	if err != nil {
		return c.unseen(ctx, t, err)
	}
	o.live, o.seen = live, true
	if err := c.look(ctx, m, t, &o); err != nil {
		return c.unseen(ctx, t, err)
	}
	switch {
	case t.keep:
		trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, t.failed)
		if t.work != nil {
			o.err = c.told(ctx, t.work, o.copy, live, "", false)
		}
	case t.wish.object == nil:
		c.remove(ctx, m, ref, t, &o)
	default:
		c.write(ctx, m, ref, t, &o)
	}
	if o.live != nil && ours(o.live) {
		o.scaler = t.autoscaler(replicasOf(o.live))
	}
	return o
}

// look reads what of a Deployment its object does not say.
func (c *copier) look(ctx context.Context, m *member.Member, t *task, o *outcome) error {
	if t.wish.of.kind != deployments.kind {
		return nil
	}
	all, err := m.List(ctx, member.Ref{Resource: scalers, Namespace: t.key.Namespace}, "")
	if err != nil {
		return err
	}
	t.scalers = scalersOf(all, t.key.Name)
	if o.live == nil || !member.Managed(o.live) {
		return nil
	}
	t.wish.scaled = t.owner(replicasOf(o.live))
	ready, _, _ := unstructured.NestedInt64(o.live.Object, "status", "readyReplicas")
	if selector := selectorOf(o.live); int64(replicasOf(o.live)) > ready && selector != "" {
		waiting, err := m.List(ctx, member.Ref{Resource: pods, Namespace: t.key.Namespace}, selector)
		if err != nil {
			return err
		}
		o.pending = pendingOf(waiting)
	}
	return nil
}

// unseen is the outcome where nobody could look: what was seen last stands.
func (c *copier) unseen(ctx context.Context, t *task, err error) outcome {
	var o outcome
	trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, err)
	if t.work != nil {
		o.err = c.told(ctx, t.work, o.copy, nil, "", false)
	}
	return o
}

// clear makes place for a copy, and reports whether one shall be written: none is where none shall run, and none is over what
// weir did not make.
func (c *copier) clear(ctx context.Context, m *member.Member, ref member.Ref, t *task, o *outcome) bool {
	switch {
	case o.live == nil && t.wish.of.kind == deployments.kind && replicasOf(t.wish.object) == 0:
		if c.amended(ctx, t, o, nil, c.giveLimitsBack(ctx, m, t, true)) {
			o.gone, o.err = true, c.drop(ctx, t.work)
		}
		return false
	case o.live != nil && standsIn(o.live) && !ours(o.live):
		// What stands in for a Service makes place for one: they are of different makers in the hub.
		if _, err := m.Delete(ctx, ref); err != nil {
			trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, err)
			return false
		}
		o.live = nil
	case o.live != nil && !ours(o.live):
		if c.amended(ctx, t, o, nil, c.giveLimitsBack(ctx, m, t, true)) {
			trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, member.Foreign(t.name, ref, o.live))
		}
		return false
	}
	return true
}

// write makes the copy stand as wished.
func (c *copier) write(ctx context.Context, m *member.Member, ref member.Ref, t *task, o *outcome) {
	if !c.clear(ctx, m, ref, t, o) {
		return
	}
	s, err := stated(&t.wish, o.live)
	if err != nil {
		o.err = err
		return
	}
	epoch, err := m.Held()
	if err != nil {
		trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, err)
		return
	}
	_, _, takes := t.due(applied(o.live))
	work, err := c.record(ctx, t, epoch, takes || lowers(&t.wish, o.live))
	if err != nil {
		o.err = err
		return
	}
	if !c.takeLimits(ctx, m, t, o, work) {
		return
	}
	wrote, ok := c.put(ctx, m, ref, t, o, s, work)
	if !ok || !c.amended(ctx, t, o, work, c.giveLimitsBack(ctx, m, t, false)) {
		return
	}
	say(&o.copy, v1alpha1.SyncSynced, "", "")
	scaled(&o.copy, t, applied(o.live))
	o.err = c.told(ctx, work, o.copy, o.live, s.hash, wrote)
}

// put writes a statement where the copy does not stand as it says, and reports whether it wrote, and whether all is well.
func (c *copier) put(ctx context.Context, m *member.Member, ref member.Ref, t *task, o *outcome, s statement, work *v1alpha1.Work) (wrote, ok bool) {
	if o.live != nil && stands(t.wish.of, s, o.live, generationOf(work)) {
		return false, true
	}
	if lowers(&t.wish, o.live) {
		if sure, err := c.sure(ctx, m, t, work); err != nil || !sure {
			say(&o.copy, v1alpha1.SyncPending, "", "")
			o.err = err
			return false, false
		}
	}
	written, err := m.Overwrite(ctx, FieldManager, ref, s.object, o.live, s.hash)
	c.Metrics.count(t.wish.of, "write", err)
	switch {
	case apierrors.IsConflict(err):
		say(&o.copy, v1alpha1.SyncPending, "", "") // it changed in between: the next look is soon.
		return false, false
	case err != nil:
		trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, err)
		o.seen = !blind(err)
		o.err = c.told(ctx, work, o.copy, nil, "", false)
		return false, false
	}
	o.live = written
	return true, true
}

// ours says whether a copy was made here. A Service that was made to stand in was not; nor is one any more that somebody
// has made his own since, which still bears the marks. A copy may come to bear them, too, where it was made in the moment
// in which something was to stand in: who wrote it tells them apart.
func ours(live *unstructured.Unstructured) bool {
	return member.Managed(live) && (live.GetAnnotations()[mcs.AnnotationStandIn] == "" ||
		slices.ContainsFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == FieldManager }))
}

// standsIn says whether a Service only stands in for one that the member does not have.
func standsIn(live *unstructured.Unstructured) bool {
	selector, _, _ := unstructured.NestedMap(live.Object, "spec", "selector")
	return mcs.StandsIn(live.GetLabels(), live.GetAnnotations(), len(selector) > 0)
}

// remove takes a copy away, and then the record of it.
func (c *copier) remove(ctx context.Context, m *member.Member, ref member.Ref, t *task, o *outcome) {
	if o.live == nil || !ours(o.live) {
		if c.amended(ctx, t, o, t.work, c.giveLimitsBack(ctx, m, t, true)) {
			o.live, o.gone = nil, true
			o.err = c.drop(ctx, t.work)
		}
		return
	}
	if t.whenEmpty && !empty(t.wish.of, o.live) {
		t.hold = "its pods have not all gone yet"
	}
	if t.hold != "" {
		say(&o.copy, v1alpha1.SyncRemoving, ReasonStillServes, t.hold)
		if t.work != nil {
			o.err = c.told(ctx, t.work, o.copy, o.live, "", false)
		}
		return
	}
	sure, err := t.confirm(ctx)
	if err != nil || !sure {
		say(&o.copy, v1alpha1.SyncPending, "", "")
		o.err = err
		return
	}
	if !c.amended(ctx, t, o, t.work, c.giveLimitsBack(ctx, m, t, true)) {
		return
	}
	_, err = m.Delete(ctx, ref)
	c.Metrics.count(t.wish.of, "delete", err)
	if err != nil {
		trouble(&o.copy, t.name, &t.wish, t.key.Namespace, t.key.Name, err)
		return
	}
	// Whether it is gone shows at the next look: finalizers may hold it.
	say(&o.copy, v1alpha1.SyncRemoving, ReasonLeftPlacement, "it shall hold nothing any more, and is being emptied")
	if t.work != nil {
		o.err = c.told(ctx, t.work, o.copy, o.live, "", false)
	}
}

// clusters are all registered ones, by name.
func (c *copier) clusters(ctx context.Context) (map[string]*v1alpha1.Cluster, error) {
	var list v1alpha1.ClusterList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list Clusters: %w", err)
	}
	out := make(map[string]*v1alpha1.Cluster, len(list.Items))
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out, nil
}

// failures of the hub's own API server, of which a conflict is none: it is an event.
func failures(all []outcome) error {
	var errs []error
	for _, o := range all {
		if o.err != nil && !apierrors.IsConflict(o.err) {
			errs = append(errs, o.err)
		}
	}
	return errors.Join(errs...)
}
