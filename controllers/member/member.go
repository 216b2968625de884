// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// LabelManaged marks every object that weir makes in a member.
const (
	LabelManaged      = "app.kubernetes.io/managed-by"
	LabelManagedValue = "weir"
)

// Member is the connection to one member's API server. It is safe for concurrent use.
type Member struct {
	name     string
	dynamic  dynamic.Interface
	term     *Term
	hold     *hold
	madeFrom string // versions of what it was made from
	now      func() time.Time

	mu      sync.Mutex
	until   time.Time
	backoff time.Duration
	overran time.Time // when something as a whole last took too long
}

// Ref names one object of a member. Namespace is empty for objects of the whole cluster.
type Ref struct {
	Resource  schema.GroupVersionResource
	Namespace string
	Name      string
}

func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Resource.Resource + " " + r.Name
	}
	return r.Resource.Resource + " " + r.Namespace + "/" + r.Name
}

// Apply makes an object stand as given, as the named field manager. It reports whether it wrote. It reads first and
// writes nothing where the object stands already. Where somebody else owns a field that would change, it writes
// nothing and returns a *ForeignError.
func (m *Member) Apply(ctx context.Context, manager string, ref Ref, want *unstructured.Unstructured) (bool, error) {
	want, err := marked(want)
	if err != nil {
		return false, fmt.Errorf("cluster %q: apply %s: %w", m.name, ref, err)
	}
	live, err := m.resource(ref).Get(ctx, ref.Name, metav1.GetOptions{})
	m.note(err)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return false, fmt.Errorf("cluster %q: read %s: %w", m.name, ref, err)
	case stands(want, live):
		return false, nil
	case live.GetLabels()[LabelManaged] != LabelManagedValue:
		return false, &ForeignError{Cluster: m.name, Ref: ref, Managers: managers(live), What: "the object was not made by weir"}
	}
	epoch, err := m.permit(ctx, ref)
	if err != nil {
		return false, err
	}
	m.stamp(want, epoch)
	_, err = m.resource(ref).Apply(ctx, ref.Name, want, metav1.ApplyOptions{FieldManager: manager})
	if onlyMarks(err) && live != nil {
		// Weir's own mark is in the way, and nothing else: it is taken over, of the object as it was read.
		want.SetUID(live.GetUID())
		want.SetResourceVersion(live.GetResourceVersion())
		_, err = m.resource(ref).Apply(ctx, ref.Name, want, metav1.ApplyOptions{FieldManager: manager, Force: true})
	}
	m.note(err)
	if foreign := foreignError(m.name, ref, err); foreign != nil {
		return false, foreign
	}
	if err != nil {
		return false, fmt.Errorf("cluster %q: apply %s: %w", m.name, ref, err)
	}
	return true, nil
}

// ApplyStatus makes the status of an object that weir made stand as given. It writes nothing where it stands already,
// the times of conditions left aside.
func (m *Member) ApplyStatus(ctx context.Context, manager string, ref Ref, want *unstructured.Unstructured) error {
	live, err := m.resource(ref).Get(ctx, ref.Name, metav1.GetOptions{})
	m.note(err)
	if err != nil {
		return fmt.Errorf("cluster %q: read %s: %w", m.name, ref, err)
	}
	if live.GetLabels()[LabelManaged] != LabelManagedValue || within(Timeless(plain(want.Object["status"])), Timeless(plain(live.Object["status"]))) {
		return nil
	}
	// A policy cannot see who writes a status but by what the object bears.
	if live, err = m.claim(ctx, ref, live); err != nil {
		return fmt.Errorf("cluster %q: mark %s: %w", m.name, ref, err)
	}
	part := &unstructured.Unstructured{Object: map[string]any{"status": want.Object["status"]}}
	part.SetGroupVersionKind(want.GroupVersionKind())
	part.SetNamespace(want.GetNamespace())
	part.SetName(want.GetName())
	part.SetResourceVersion(live.GetResourceVersion())
	_, err = m.resource(ref).ApplyStatus(ctx, ref.Name, part, metav1.ApplyOptions{FieldManager: manager})
	m.note(err)
	if err != nil {
		return fmt.Errorf("cluster %q: apply the status of %s: %w", m.name, ref, err)
	}
	return nil
}

// Delete removes an object that weir made; one that is gone is no error, one that weir did not make is left alone.
// It reports whether it deleted.
func (m *Member) Delete(ctx context.Context, ref Ref) (bool, error) {
	return m.DeleteIf(ctx, ref, func(*unstructured.Unstructured) bool { return true })
}

// DeleteIf is Delete for an object that still is as ours says: of some that weir made, users may have made their own since.
func (m *Member) DeleteIf(ctx context.Context, ref Ref, ours func(*unstructured.Unstructured) bool) (bool, error) {
	live, err := m.resource(ref).Get(ctx, ref.Name, metav1.GetOptions{})
	m.note(err)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cluster %q: read %s: %w", m.name, ref, err)
	}
	if live.GetLabels()[LabelManaged] != LabelManagedValue || !ours(live) {
		return false, nil
	}
	if live, err = m.claim(ctx, ref, live); apierrors.IsNotFound(err) {
		return true, nil // somebody was quicker.
	} else if err != nil {
		return false, fmt.Errorf("cluster %q: mark %s before its end: %w", m.name, ref, err)
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err = m.resource(ref).Delete(ctx, ref.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	m.note(err)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("cluster %q: delete %s: %w", m.name, ref, err)
	}
	return true, nil
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// LabelPod sets one label of one pod and its annotations in one write, or takes off those whose value is empty. The pod is
// the one with the given UID: another that has taken its name since is left alone, and a pod that is gone is no error.
func (m *Member) LabelPod(ctx context.Context, manager, namespace, name string, uid types.UID, key, value string, annotations map[string]string) error {
	ref := Ref{Resource: podResource, Namespace: namespace, Name: name}
	epoch, err := m.permit(ctx, ref)
	if err != nil {
		return err
	}
	set := map[string]any{}
	for k, v := range annotations {
		set[k] = orNull(v)
	}
	for k, v := range marksOf(nil, m.term.hubUID, epoch) {
		set[k] = v
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": uid, "labels": map[string]any{key: orNull(value)}, "annotations": set,
	}})
	if err != nil {
		return fmt.Errorf("cluster %q: label pod %s/%s: %w", m.name, namespace, name, err)
	}
	_, err = m.resource(ref).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	m.note(err)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || otherPod(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cluster %q: label pod %s/%s: %w", m.name, namespace, name, err)
	}
	return nil
}

// orNull is a value as a merge patch writes it: null takes the key off.
func orNull(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// otherPod says whether an API server refused a patch because the pod of that name has another UID.
func otherPod(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

func (m *Member) resource(r Ref) dynamic.ResourceInterface {
	if r.Namespace == "" {
		return m.dynamic.Resource(r.Resource)
	}
	return m.dynamic.Resource(r.Resource).Namespace(r.Namespace)
}

// note lengthens or ends the back-off: only silence counts, an answer of any kind is contact. For a while after something as
// a whole took too long, single answers end nothing: whoever answers each request just in time is as good as silent.
func (m *Member) note(err error) {
	if byPolicy(err) {
		m.hold.doubt()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case silent(err):
		if !m.until.After(m.now()) { // else it was asked before the pause, as others were: one silence counts once
			m.lengthen()
		}
	case m.now().Sub(m.overran) >= slowFor:
		m.backoff, m.until = 0, time.Time{}
	}
}

// Overran says that what was to be done in this member as a whole took longer than it may. The member is left alone for a
// while, and for longer each time.
func (m *Member) Overran() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.overran = m.now()
	if !m.until.After(m.overran) { // else the request that was broken off has been counted
		m.lengthen()
	}
}

func (m *Member) lengthen() {
	m.backoff = min(max(2*m.backoff, firstBackoff), longestBackoff)
	m.until = m.now().Add(m.backoff)
}

func (m *Member) pause() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.until.Sub(m.now())
}

func silent(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return false
	}
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, context.DeadlineExceeded)
}
