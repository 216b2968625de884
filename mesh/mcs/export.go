// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Export is one cluster's ServiceExport together with the Service it names.
type Export struct {
	// Cluster is the cluster's id, a DNS label.
	Cluster string
	// Created is when the ServiceExport was, by that cluster's clock, to the
	// second.
	Created time.Time
	// UnheardSince is set while the cluster cannot be reached: all else is what
	// was known then. Zero means that it is heard.
	UnheardSince time.Time
	// Invalid says why the export does not count; empty where it does.
	Invalid mcsv1beta1.ServiceExportConditionReason

	Type                  mcsv1beta1.ServiceImportType
	Ports                 []mcsv1beta1.ServicePort
	SessionAffinity       corev1.ServiceAffinity
	SessionAffinityConfig *corev1.SessionAffinityConfig
	InternalTrafficPolicy *corev1.ServiceInternalTrafficPolicy
	TrafficDistribution   *string
	IPFamilies            []corev1.IPFamily
	// Labels and Annotations are those named in the ServiceExport's spec. The
	// metadata of either object never travels.
	Labels, Annotations map[string]string
}

// NewExport reads an export. The Service is nil where there is none of that name
// in the cluster; the export then counts for nothing, as does that of an
// ExternalName Service, which has no endpoints to share.
func NewExport(cluster string, export *mcsv1beta1.ServiceExport, service *corev1.Service) Export {
	e := Export{
		Cluster:     cluster,
		Created:     export.CreationTimestamp.Time,
		Labels:      export.Spec.ExportedLabels,
		Annotations: export.Spec.ExportedAnnotations,
	}
	switch {
	case service == nil:
		e.Invalid = mcsv1beta1.ServiceExportReasonNoService
		return e
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		e.Invalid = mcsv1beta1.ServiceExportReasonInvalidServiceType
		return e
	}
	s := service.Spec
	e.Type = mcsv1beta1.ClusterSetIP // NodePort and LoadBalancer too.
	if s.ClusterIP == corev1.ClusterIPNone {
		e.Type = mcsv1beta1.Headless
	}
	for _, p := range s.Ports {
		e.Ports = append(e.Ports, mcsv1beta1.ServicePort{
			Name: p.Name, Protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP), Port: p.Port, AppProtocol: p.AppProtocol,
		})
	}
	e.SessionAffinity = cmp.Or(s.SessionAffinity, corev1.ServiceAffinityNone)
	e.SessionAffinityConfig = s.SessionAffinityConfig
	e.InternalTrafficPolicy = s.InternalTrafficPolicy
	e.TrafficDistribution = s.TrafficDistribution
	e.IPFamilies = s.IPFamilies
	return e
}

// Action is what to do with an object.
type Action string

const (
	// Keep leaves it as it is, absent or present.
	Keep Action = "Keep"
	// Apply writes it.
	Apply Action = "Apply"
	// Delete removes it.
	Delete Action = "Delete"
	// Refuse leaves it as it is, because somebody else made it; the message is
	// for that somebody.
	Refuse Action = "Refuse"
)

// Decision is an Action with the reason for it, in words that are stable for the
// same facts. The message is empty where there is nothing to tell.
type Decision struct {
	Action  Action
	Message string
}

const (
	// LabelManagedBy marks what weir makes; its value is ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "weir"
)

// DecideExport says what to do with the ServiceExport of a Service in one
// cluster. Wanted means that its owner asked for it and no fence holds it back;
// service and existing are nil where there is none. A user's own export is left
// alone, wanted or not.
func DecideExport(wanted bool, service *corev1.Service, existing *mcsv1beta1.ServiceExport) Decision {
	switch {
	case existing != nil && existing.Labels[LabelManagedBy] != ManagedBy:
		if wanted {
			return Decision{Keep, "the service has a ServiceExport that weir did not make; it is used as it is"}
		}
		return Decision{Keep, "the service stays exported by a ServiceExport that weir did not make; whoever made it must delete it"}
	case existing != nil && existing.DeletionTimestamp != nil:
		if len(existing.Finalizers) == 0 {
			return Decision{Action: Keep}
		}
		return Decision{Keep, fmt.Sprintf("the ServiceExport is being deleted but held by finalizer %q; until that is gone Istio counts the service as exported", existing.Finalizers[0])}
	case !wanted && existing != nil:
		return Decision{Action: Delete}
	case !wanted:
		return Decision{Action: Keep}
	case service == nil:
		return Decision{Keep, "there is no Service to export"}
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return Decision{Keep, "an ExternalName Service has no endpoints to export; give the Service a selector"}
	case existing != nil:
		return Decision{Action: Keep}
	}
	return Decision{Action: Apply}
}

// NewServiceExport returns the ServiceExport that weir makes. It has no
// finalizer, and exports no labels or annotations: those are the user's to name.
func NewServiceExport(namespace, name string) *mcsv1beta1.ServiceExport {
	return &mcsv1beta1.ServiceExport{
		TypeMeta:   metav1.TypeMeta{APIVersion: mcsv1beta1.GroupVersion.String(), Kind: mcsv1beta1.ServiceExportKindName},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{LabelManagedBy: ManagedBy}},
	}
}

// byAge sorts exports by age, and those of one second by their cluster's id.
func byAge(exports []Export) []Export {
	return slices.SortedFunc(slices.Values(exports), func(a, b Export) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Cluster, b.Cluster))
	})
}
