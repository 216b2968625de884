// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
)

// belonging says to which hub a member belongs, as the member itself holds it.
type belonging struct {
	member  dynamic.ResourceInterface
	hubUID  string                     // of the hub that it shall belong to
	live    *unstructured.Unstructured // nil: no hub has taken it
	foreign string                     // the UID of another hub that has; empty: none
	epoch   int64
}

// takeFrom returns the UID of the hub from which the member was taken; empty: it belonged to no other. It is an error that it
// does, unless it shall be taken.
func (h *hub) takeFrom(ctx context.Context, name string, config *rest.Config, takeOver bool) (string, error) {
	b, err := h.belongs(ctx, name, config)
	switch {
	case err != nil || b.foreign == "":
		return "", err
	case !takeOver:
		return "", b.refuse(name)
	}
	return b.foreign, b.take(ctx, name)
}

// belongs reads it. Only a member's own API server knows: a second hub knows nothing of the first one.
func (h *hub) belongs(ctx context.Context, name string, config *rest.Config) (*belonging, error) {
	system, err := h.kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read namespace %s of the hub, whose UID tells it from other hubs: %w", metav1.NamespaceSystem, err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to member %q: %w", name, err)
	}
	b := &belonging{member: client.Resource(v1alpha1.GroupVersion.WithResource("federationepochs")), hubUID: string(system.UID)}
	live, err := b.member.Get(ctx, v1alpha1.FederationEpochName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return b, nil // nobody has, or the kind is not known there yet.
	}
	if err != nil {
		return nil, fmt.Errorf("member %q: read to which hub it belongs: %w", name, err)
	}
	var e v1alpha1.FederationEpoch
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &e); err != nil {
		return nil, fmt.Errorf("member %q: read to which hub it belongs: %w", name, err)
	}
	b.live, b.epoch = live, e.Spec.Epoch
	if e.Spec.HubUID != b.hubUID {
		b.foreign = e.Spec.HubUID
	}
	return b, nil
}

// refuse is the error for who did not mean to take a member from another hub.
func (b *belonging) refuse(name string) error {
	return fmt.Errorf("member %q belongs to another hub, the one whose namespace kube-system has the UID %s (epoch %d), and nothing was changed: "+
		"join it at that hub; or, if that one is gone or shall lose it, run this again with --take-over: the other hub can write nothing there from then on",
		name, b.foreign, b.epoch)
}

// take gives the member to this hub, above the epoch of the other, whose writes the member refuses from here on.
func (b *belonging) take(ctx context.Context, name string) error {
	want := b.live.DeepCopy()
	labels, annotations := want.GetLabels(), want.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[member.LabelManaged] = member.LabelManagedValue
	// The mark of no leader: it is given, and the one that leads this hub now may take it.
	annotations[v1alpha1.AnnotationHub], annotations[v1alpha1.AnnotationEpoch] = b.hubUID, "0"
	want.SetLabels(labels)
	want.SetAnnotations(annotations)
	want.Object["spec"] = map[string]any{"hubUID": b.hubUID, "epoch": b.epoch + 1}
	if _, err := b.member.Update(ctx, want, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("member %q: take it from the hub %s: %w", name, b.foreign, err)
	}
	return nil
}
