// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/mcs"
)

var (
	virtualServices  = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "virtualservices"}
	destinationRules = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "destinationrules"}
	serviceExports   = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1beta1", Resource: "serviceexports"}
	serviceImports   = schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1beta1", Resource: "serviceimports"}
	fenceBindings    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"}
	fencePolicies    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}
	services         = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	pods             = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// routeOf is the route of a global service in a member.
func routeOf(key types.NamespacedName) member.Ref {
	return member.Ref{Resource: virtualServices, Namespace: key.Namespace, Name: istio.ObjectName(key.Name, false)}
}

// placedFor is all that weir may have put into a member for a global service, in the order in which it is taken away: what
// names something goes before it, and the entry is opened before the fence comes off.
func placedFor(key types.NamespacedName) []member.Ref {
	fence := member.FenceName(key.Namespace, key.Name)
	return []member.Ref{
		routeOf(key),
		{Resource: destinationRules, Namespace: key.Namespace, Name: istio.ObjectName(key.Name, false)},
		{Resource: serviceExports, Namespace: key.Namespace, Name: key.Name},
		{Resource: serviceImports, Namespace: key.Namespace, Name: key.Name},
		{Resource: services, Namespace: key.Namespace, Name: key.Name},
		{Resource: fenceBindings, Name: fence},
		{Resource: fencePolicies, Name: fence},
	}
}

// ours says of an object that bears weir's label whether it still is weir's to take: over a Service that stood in, its
// owner may have applied his own, and a copy of a FederatedService goes with its Work.
func ours(u *unstructured.Unstructured) bool {
	if u.GetKind() != "Service" {
		return true
	}
	selector, _, _ := unstructured.NestedMap(u.Object, "spec", "selector")
	return mcs.StandsIn(u.GetLabels(), u.GetAnnotations(), len(selector) > 0) && u.GetAnnotations()[v1alpha1.AnnotationGlobal] != "true"
}

// take deletes what of these is weir's, and returns how many there were. It ends at the first failure: what was deleted is
// deleted, and the next look goes on.
func take(ctx context.Context, m *member.Member, refs []member.Ref) (int, error) {
	n := 0
	for _, ref := range refs {
		deleted, err := m.DeleteIf(ctx, ref, ours)
		if apierrors.IsForbidden(err) && ref.Resource == services {
			continue // an older release of the agent grants no right to Services, so none of weir's is there.
		}
		if err != nil {
			return n, err
		}
		if deleted {
			n++
		}
	}
	return n, nil
}

// unfence takes the fence off every pod that bears weir's, and returns how many there were. The label that marks it as
// weir's goes last: whoever is interrupted finds the pod again.
func unfence(ctx context.Context, m *member.Member) (int, error) {
	fenced, err := m.List(ctx, member.Ref{Resource: pods}, member.LabelFenceGeneration)
	if err != nil {
		return 0, err
	}
	for i := range fenced {
		p := &fenced[i]
		var cost map[string]string
		if p.GetAnnotations()[member.AnnotationDeletionCost] == member.FencedCost {
			cost = map[string]string{member.AnnotationDeletionCost: ""}
		}
		for _, l := range []struct {
			key   string
			notes map[string]string
		}{{member.LabelFence, cost}, {member.LabelFenceGeneration, nil}} {
			if err := m.LabelPod(ctx, FieldManager, p.GetNamespace(), p.GetName(), p.GetUID(), l.key, "", l.notes); err != nil {
				return i, err
			}
		}
	}
	return len(fenced), nil
}

// left names what weir put into a member, as far as the hub knows, where nothing of it can be taken away.
func (f *Fleet) left() []string {
	var out []string
	for _, key := range f.keys() {
		out = append(out, fmt.Sprintf("service %s: VirtualService and DestinationRule %s, ServiceExport and ServiceImport %s, the Service that stands in where there was none, MutatingAdmissionPolicy %s with its binding",
			key, istio.ObjectName(key.Name, false), key.Name, member.FenceName(key.Namespace, key.Name)))
	}
	if len(out) > 0 {
		out = append(out, fmt.Sprintf("the labels %s and %s on pods", member.LabelFence, member.LabelFenceGeneration))
	}
	return append(f.leftCopies(), out...)
}

// leftCopies names the copies of federated objects that stay.
func (f *Fleet) leftCopies() []string {
	var out []string
	for i := range f.Works {
		w := &f.Works[i]
		kind := "Service"
		of := ""
		if w.Labels[v1alpha1.LabelWorkKind] == "deployment" {
			kind, of = "Deployment", "; of an autoscaler on it, limits that a drain lowered ("+member.AnnotationLimits+")"
		}
		out = append(out, fmt.Sprintf("%s %s/%s, a copy of Federated%s%s", kind, w.Labels[v1alpha1.LabelWorkNamespace], w.Labels[v1alpha1.LabelWorkName], kind, of))
	}
	slices.Sort(out)
	return out
}

// keys are those of all global services, sorted: rules of each go to every member.
func (f *Fleet) keys() []types.NamespacedName {
	out := make([]types.NamespacedName, 0, len(f.Services))
	for i := range f.Services {
		out = append(out, types.NamespacedName{Namespace: f.Services[i].Namespace, Name: f.Services[i].Name})
	}
	slices.SortFunc(out, func(a, b types.NamespacedName) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	return out
}
