// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// Finalizer holds a deleted Work until the member holds nothing of it any more.
const Finalizer = "weir.io/placed"

// worksOf are the records of what members hold of a federated object, by member.
func (c *copier) worksOf(ctx context.Context, kind string, key types.NamespacedName) (map[string]*v1alpha1.Work, error) {
	var list v1alpha1.WorkList
	if err := c.Client.List(ctx, &list, client.MatchingLabels(v1alpha1.WorkLabels(kind, key.Namespace, key.Name))); err != nil {
		return nil, fmt.Errorf("list Works of %s %s: %w", kind, key, err)
	}
	out := make(map[string]*v1alpha1.Work, len(list.Items))
	for i := range list.Items {
		if cluster := list.Items[i].Annotations[v1alpha1.AnnotationWorkCluster]; cluster != "" {
			out[cluster] = &list.Items[i]
		}
	}
	return out, nil
}

// recorded is the object that a Work holds; nil: none that can be read.
func recorded(w *v1alpha1.Work) *unstructured.Unstructured {
	if w == nil || len(w.Spec.Workload.Manifests) == 0 {
		return nil
	}
	u := &unstructured.Unstructured{}
	if decode(w.Spec.Workload.Manifests[0].Raw, &u.Object) != nil {
		return nil
	}
	return u
}

// generationOf is the generation that the member's copy had after the last write.
func generationOf(w *v1alpha1.Work) int64 {
	if w == nil || len(w.Status.Manifests) == 0 {
		return 0
	}
	return w.Status.Manifests[0].Generation
}

// reduceWithin is for how long a record may take something away after it was written.
const reduceWithin = 10 * time.Minute

// reduces says whether a record may take something away: it is of this leader, and not old.
func reduces(w *v1alpha1.Work, epoch int64, now time.Time) bool {
	s := &w.Spec
	return s.Epoch != nil && *s.Epoch == epoch && s.NotAfter != nil && now.Before(s.NotAfter.Time)
}

// record writes down what a member shall hold, before anything is written there. It makes the Work where there is none, and
// the namespace that it stands in. One that says so already is left as it is, but where it shall take something away: then
// it must be of this epoch, and young.
func (c *copier) record(ctx context.Context, t *task, epoch int64, reducing bool) (*v1alpha1.Work, error) {
	old, key, cluster, want, base := t.work, t.key, t.name, t.wish.object, t.base
	if have := recorded(old); have != nil && equality.Semantic.DeepEqual(have.Object, want.Object) && slices.Contains(old.Finalizers, Finalizer) &&
		(!reducing || reduces(old, epoch, c.Now())) {
		return old, nil
	}
	raw, err := json.Marshal(want.Object)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: encode the Work of %s: %w", cluster, key, err)
	}
	until := hub.Time(c.Now().Add(reduceWithin))
	spec := v1alpha1.WorkSpec{Epoch: &epoch, BaseGeneration: &base, NotAfter: &until}
	spec.Workload.Manifests = []v1alpha1.Manifest{{}}
	spec.Workload.Manifests[0].Raw = raw
	w := &v1alpha1.Work{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Work"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v1alpha1.MemberNamespace(cluster), Name: v1alpha1.WorkName(want.GetKind(), key.Namespace, key.Name),
			Labels: v1alpha1.WorkLabels(want.GetKind(), key.Namespace, key.Name), Finalizers: []string{Finalizer},
			Annotations: map[string]string{v1alpha1.AnnotationWorkCluster: cluster},
		},
		Spec: spec,
	}
	if old != nil {
		w.ResourceVersion = old.ResourceVersion
	}
	u := &unstructured.Unstructured{}
	if err := recode(w, &u.Object); err != nil {
		return nil, fmt.Errorf("cluster %q: encode the Work of %s: %w", cluster, key, err)
	}
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	err = c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldManager), client.ForceOwnership)
	if apierrors.IsNotFound(err) && old == nil {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
		if err := c.Client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("cluster %q: make namespace %s for its Works: %w", cluster, w.Namespace, err)
		}
		err = c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldManager), client.ForceOwnership)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %q: write the Work of %s: %w", cluster, key, err)
	}
	w.ResourceVersion, w.Generation = u.GetResourceVersion(), u.GetGeneration()
	if old != nil {
		w.Status = old.Status
	}
	return w, nil
}

// told writes into a Work what became of it.
func (c *copier) told(ctx context.Context, w *v1alpha1.Work, row v1alpha1.MemberCopy, live *unstructured.Unstructured, hash string, wrote bool) error {
	status := *w.Status.DeepCopy()
	status.ObservedGeneration = w.Generation
	row.Sight, row.SeenAt = "", nil // the federated object says it: here it would be a write a minute.
	line := v1alpha1.ManifestStatus{MemberCopy: row}
	if len(status.Manifests) > 0 {
		line.Generation, line.Hash, line.WrittenAt = status.Manifests[0].Generation, status.Manifests[0].Hash, status.Manifests[0].WrittenAt
	}
	if o := recorded(w); o != nil {
		line.Resource = v1alpha1.ResourceReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	if wrote {
		now := hub.Time(c.Now())
		line.Generation, line.Hash, line.WrittenAt = live.GetGeneration(), hash, &now
	}
	status.Manifests = []v1alpha1.ManifestStatus{line}
	condition := metav1.Condition{Type: v1alpha1.ConditionPropagated, ObservedGeneration: w.Generation}
	condition.Status, condition.Reason, condition.Message = propagated([]v1alpha1.MemberCopy{row}, []string{w.Annotations[v1alpha1.AnnotationWorkCluster]})
	condition.Message = hub.Clip(condition.Message, v1alpha1.MaxMessage)
	meta.SetStatusCondition(&status.Conditions, condition)
	if equality.Semantic.DeepEqual(status, w.Status) {
		return nil
	}
	name := &v1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}}
	if _, err := hub.ApplyStatus(ctx, c.Client, FieldManager, name, "", status); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("work %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}

// drop takes the record of a member that holds nothing any more.
func (c *copier) drop(ctx context.Context, w *v1alpha1.Work) error {
	if w == nil {
		return nil
	}
	w = w.DeepCopy()
	if i := slices.Index(w.Finalizers, Finalizer); i >= 0 {
		w.Finalizers = slices.Delete(w.Finalizers, i, i+1)
		if err := c.Client.Update(ctx, w, client.FieldOwner(FieldManager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("work %s/%s: let go: %w", w.Namespace, w.Name, err)
		}
	}
	if err := c.Client.Delete(ctx, w); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("work %s/%s: delete: %w", w.Namespace, w.Name, err)
	}
	return nil
}
