// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Managed says whether weir made an object.
func Managed(o *unstructured.Unstructured) bool {
	return o.GetLabels()[LabelManaged] == LabelManagedValue
}

// Read returns an object as it stands; nil where there is none.
func (m *Member) Read(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	live, err := m.resource(ref).Get(ctx, ref.Name, metav1.GetOptions{})
	m.note(err)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nothing stands there, and nothing went wrong.
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %q: read %s: %w", m.name, ref, err)
	}
	return live, nil
}

// List returns the objects of one kind in a namespace whose labels match a selector (empty: all); ref's name is not used.
// A kind that the member does not serve has none.
func (m *Member) List(ctx context.Context, ref Ref, selector string) ([]unstructured.Unstructured, error) {
	list, err := m.resource(ref).List(ctx, metav1.ListOptions{LabelSelector: selector})
	m.note(err)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %q: list %s in %s: %w", m.name, ref.Resource.Resource, ref.Namespace, err)
	}
	return list.Items, nil
}

// Overwrite makes an object stand as given, on top of the version that was read (nil: there was none), and returns it as
// it then stands. It is for copies of what the hub holds: an edit of a field that is stated here is overwritten, which
// Apply would not do. What is there and was not made by weir is left alone, a *ForeignError. An object that has changed
// since it was read is a conflict. The hash is kept in AnnotationApplied.
func (m *Member) Overwrite(ctx context.Context, manager string, ref Ref, want, live *unstructured.Unstructured, hash string) (*unstructured.Unstructured, error) {
	if live != nil && !Managed(live) {
		return nil, Foreign(m.name, ref, live)
	}
	want = want.DeepCopy()
	want.SetLabels(with(maps.Clone(want.GetLabels()), LabelManaged, LabelManagedValue))
	epoch, err := m.permit(ctx, ref)
	if err != nil {
		return nil, err
	}
	want.SetAnnotations(with(marksOf(want.GetAnnotations(), m.term.hubUID, epoch), AnnotationApplied, hash))
	if live != nil {
		want.SetUID(live.GetUID())
		want.SetResourceVersion(live.GetResourceVersion())
	}
	// Only what weir made is written by force: what somebody made between the look and this is met without.
	out, err := m.resource(ref).Apply(ctx, ref.Name, want, metav1.ApplyOptions{FieldManager: manager, Force: live != nil})
	m.note(err)
	if foreign := foreignError(m.name, ref, err); foreign != nil {
		return nil, foreign
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %q: apply %s: %w", m.name, ref, err)
	}
	return out, nil
}

// Within says whether every field of a is so in b, whatever else b has; lists must match item by item.
func Within(a, b any) bool { return within(plain(a), plain(b)) }

// Foreign is the error that says that an object was not made by weir.
func Foreign(cluster string, ref Ref, live *unstructured.Unstructured) error {
	return &ForeignError{Cluster: cluster, Ref: ref, Managers: managers(live), What: "the object was not made by weir"}
}
