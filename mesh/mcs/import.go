// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// AnnotationWinner keeps the winning cluster on each ServiceImport, so that a
// restarted hub goes on with it.
const AnnotationWinner = "weir.io/import-winner"

// AnnotationStandIn marks a Service as one that StubService made. The label of
// weir alone does not do: people apply a Service of their own over it, and the
// label stays.
const AnnotationStandIn = "weir.io/stand-in"

// StandsIn says whether a Service is as StubService makes it: weir's, and without
// a selector. One that a user has made his own is none any more.
func StandsIn(labels, annotations map[string]string, selects bool) bool {
	return labels[LabelManagedBy] == ManagedBy && annotations[AnnotationStandIn] == "true" && !selects
}

// ServiceImport writes an import for one cluster; exporting clusters get one as
// well as all others that have the namespace. The local Service is the one of the
// same name there, nil for none.
//
// The import's IPs are that Service's cluster IPs: stable, known to kube-proxy,
// and different in each cluster, which the API allows. While there are none the
// import has no IPs and is not Ready, and the message says why. A headless import
// never has IPs.
func ServiceImport(namespace, name string, imp Import, local *corev1.Service) *mcsv1beta1.ServiceImport {
	out := &mcsv1beta1.ServiceImport{
		TypeMeta: metav1.TypeMeta{APIVersion: mcsv1beta1.GroupVersion.String(), Kind: mcsv1beta1.ServiceImportKindName},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: maps.Clone(imp.Labels), Annotations: maps.Clone(imp.Annotations),
		},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:                  imp.Type,
			Ports:                 slices.Clone(imp.Ports),
			SessionAffinity:       imp.SessionAffinity,
			SessionAffinityConfig: imp.SessionAffinityConfig.DeepCopy(),
			InternalTrafficPolicy: clone(imp.InternalTrafficPolicy),
			TrafficDistribution:   clone(imp.TrafficDistribution),
		},
	}
	out.Labels = with(out.Labels, LabelManagedBy, ManagedBy)
	out.Annotations = with(out.Annotations, AnnotationWinner, imp.Winner)
	for _, c := range imp.Clusters {
		out.Status.Clusters = append(out.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: c})
	}
	ready := metav1.Condition{
		Type: string(mcsv1beta1.ServiceImportConditionReady), Status: metav1.ConditionTrue, Reason: string(mcsv1beta1.ServiceImportReasonReady),
	}
	if imp.Type == mcsv1beta1.Headless {
		out.Spec.IPFamilies = slices.Clone(imp.IPFamilies)
	} else {
		var reason mcsv1beta1.ServiceImportConditionReason
		out.Spec.IPs, out.Spec.IPFamilies, reason, ready.Message = addresses(imp, local)
		if reason != "" {
			ready.Status, ready.Reason = metav1.ConditionFalse, string(reason)
		}
	}
	out.Status.Conditions = []metav1.Condition{ready}
	return out
}

// addresses picks the IPs of an import out of the local Service's, one for each
// family, in the import's order, and says why there are none.
func addresses(imp Import, local *corev1.Service) ([]string, []corev1.IPFamily, mcsv1beta1.ServiceImportConditionReason, string) {
	pending := mcsv1beta1.ServiceImportReasonPending
	switch {
	case local == nil:
		return nil, nil, pending, "there is no Service of this name in this cluster yet to take the IP from"
	case local.Spec.Type == corev1.ServiceTypeExternalName, local.Spec.ClusterIP == corev1.ClusterIPNone:
		return nil, nil, pending, fmt.Sprintf("the Service of this name in this cluster has no cluster IP, but cluster %s exports one that has; rename one of them, or make both alike", imp.Winner)
	case len(local.Spec.ClusterIPs) == 0:
		return nil, nil, pending, "the Service of this name in this cluster has no cluster IP yet"
	}
	var ips []string
	var families []corev1.IPFamily
	for _, f := range imp.IPFamilies {
		if i := slices.Index(local.Spec.IPFamilies, f); i >= 0 && i < len(local.Spec.ClusterIPs) {
			ips, families = append(ips, local.Spec.ClusterIPs[i]), append(families, f)
		}
	}
	if len(ips) == 0 {
		return nil, nil, mcsv1beta1.ServiceImportReasonIPFamilyNotSupported, fmt.Sprintf(
			"the exports have %v, and the Service of this name in this cluster has %v: no IP serves both", imp.IPFamilies, local.Spec.IPFamilies)
	}
	return ips, families, "", ""
}

// StubService returns the Service, without a selector and so without endpoints of
// its own, that weir makes in a cluster which imports the name but has no Service
// of it. It gives the import an IP, and Istio the Service that it copies the
// clusterset host from. It is wanted for imports of type ClusterSetIP only.
func StubService(namespace, name string, imp Import) *corev1.Service {
	out := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			// Not multicluster.kubernetes.io/service-name: a Service's labels are on its EndpointSlices too, and Istio looks
			// at none that has it. Who applies a Service of his own over this one would serve nobody.
			Labels:      map[string]string{LabelManagedBy: ManagedBy},
			Annotations: map[string]string{AnnotationStandIn: "true"},
		},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP},
	}
	for _, p := range imp.Ports {
		out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port, AppProtocol: clone(p.AppProtocol)})
	}
	return out
}

// DecideImport says what to do with the ServiceImport of one cluster: wanted is
// nil where nobody exports the name, existing where there is none. What users
// changed in weir's is written back; an import that weir did not make is a
// conflict, told and left alone. Equal objects are never written.
func DecideImport(wanted, existing *mcsv1beta1.ServiceImport) Decision {
	switch {
	case existing == nil && wanted == nil:
		return Decision{Action: Keep}
	case existing == nil:
		return Decision{Action: Apply}
	case existing.Labels[LabelManagedBy] != ManagedBy:
		if wanted == nil {
			return Decision{Action: Keep}
		}
		return Decision{Refuse, "there is a ServiceImport of this name that weir did not make; delete it, or take the export off the service"}
	case wanted == nil:
		return Decision{Action: Delete}
	case standsAs(wanted, existing):
		return Decision{Action: Keep}
	}
	return Decision{Action: Apply}
}

// PresentOf reads from a ServiceImport of weir's what Merge must be told of it.
func PresentOf(existing *mcsv1beta1.ServiceImport) Present {
	if existing == nil || existing.Labels[LabelManagedBy] != ManagedBy {
		return Present{}
	}
	return Present{Winner: existing.Annotations[AnnotationWinner], Type: existing.Spec.Type}
}

// standsAs says whether an object is as wanted. Labels and annotations of others
// on it do not count, nor do the times of its conditions.
func standsAs(wanted, existing *mcsv1beta1.ServiceImport) bool {
	return apiequality.Semantic.DeepEqual(wanted.Spec, existing.Spec) &&
		holds(existing.Labels, wanted.Labels) && holds(existing.Annotations, wanted.Annotations) &&
		apiequality.Semantic.DeepEqual(wanted.Status.Clusters, existing.Status.Clusters) &&
		sameConditions(wanted.Status.Conditions, existing.Status.Conditions)
}

func holds(all, some map[string]string) bool {
	for k, v := range some {
		if have, ok := all[k]; !ok || have != v {
			return false
		}
	}
	return true
}

func sameConditions(wanted, existing []metav1.Condition) bool {
	for _, w := range wanted {
		if !slices.ContainsFunc(existing, func(e metav1.Condition) bool {
			return e.Type == w.Type && e.Status == w.Status && e.Reason == w.Reason && e.Message == w.Message
		}) {
			return false
		}
	}
	return true
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
