// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/mesh/mcs"
	"github.com/weir-io/weir/resview/pb"
)

var (
	exportResource = schema.GroupVersionResource{Group: mcsv1beta1.GroupName, Version: "v1beta1", Resource: "serviceexports"}
	importResource = schema.GroupVersionResource{Group: mcsv1beta1.GroupName, Version: "v1beta1", Resource: "serviceimports"}
)

// exportOf returns what shall stand of the MCS API in a member: the ServiceExport where it has the Service, else a Service
// that stands in for it, and the ServiceImport in either. All are merged from all members that are known, so that each
// import says the same. While no export is known nothing is wanted, nor unwanted.
func exportOf(in *input, m memberView) []admissionObject {
	var exports []mcs.Export
	for _, e := range in.exporters() {
		if e.facts != nil {
			exports = append(exports, mcs.NewExport(e.name, exportObject(in, e), serviceObject(in, e.facts)))
		}
	}
	merged, conflicts := mcs.Merge(mcs.Present{}, exports)
	var out []admissionObject
	local := m.standIn
	if m.facts != nil {
		local = m.facts
		export := mcs.NewServiceExport(in.key.Namespace, in.key.Name)
		for _, e := range exports {
			if e.Cluster == m.name {
				export.Status.Conditions = timed(mcs.ExportConditions(e, merged, conflicts, true), in.now)
			}
		}
		out = append(out, objectOf(exportResource, export))
	}
	if len(merged.Clusters) == 0 {
		return out
	}
	if m.facts == nil && merged.Type == mcsv1beta1.ClusterSetIP {
		out = append(out, standInFor(in, merged))
	}
	var service *corev1.Service
	if local != nil {
		service = serviceObject(in, local)
	}
	imported := mcs.ServiceImport(in.key.Namespace, in.key.Name, merged, service)
	imported.Status.Conditions = timed(imported.Status.Conditions, in.now)
	return append(out, objectOf(importResource, imported))
}

// timed says since when conditions stand, where they do not stand already: the time of what stands is never changed.
func timed(conditions []metav1.Condition, now time.Time) []metav1.Condition {
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	}
	return conditions
}

func exportObject(in *input, m memberView) *mcsv1beta1.ServiceExport {
	e := mcs.NewServiceExport(in.key.Namespace, in.key.Name)
	e.CreationTimestamp = metav1.NewTime(time.Unix(m.facts.GetCreatedUnix(), 0))
	return e
}

// serviceObject is a member's Service as far as the agent reports it.
func serviceObject(in *input, f *pb.ServiceFacts) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: in.key.Namespace, Name: in.key.Name}}
	s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceType(f.GetType()), f.GetClusterIp()
	if f.GetType() == "Headless" {
		s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceTypeClusterIP, corev1.ClusterIPNone
	}
	if s.Spec.ClusterIP != "" {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
	s.Spec.SessionAffinity = corev1.ServiceAffinity(f.GetSessionAffinity())
	if p := corev1.ServiceInternalTrafficPolicy(f.GetInternalTrafficPolicy()); p != "" {
		s.Spec.InternalTrafficPolicy = &p
	}
	if d := f.GetTrafficDistribution(); d != "" {
		s.Spec.TrafficDistribution = &d
	}
	if strings.Contains(s.Spec.ClusterIP, ":") {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	} else {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	for _, p := range f.GetPorts() {
		port := corev1.ServicePort{Name: p.GetName(), Port: p.GetPort(), Protocol: corev1.Protocol(protocol(p))}
		if p.GetAppProtocol() != "" {
			app := p.GetAppProtocol()
			port.AppProtocol = &app
		}
		s.Spec.Ports = append(s.Spec.Ports, port)
	}
	return s
}

// objectOf turns a typed object into one to apply, without the fields that a server fills in.
func objectOf(resource schema.GroupVersionResource, o interface {
	GetNamespace() string
	GetName() string
},
) admissionObject {
	u := &unstructured.Unstructured{}
	raw, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(raw, &u.Object)
	}
	if err != nil {
		// Types of the API always marshal; without one there is nothing to apply.
		return admissionObject{member.Ref{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName()}, u}
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return admissionObject{member.Ref{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName()}, u}
}

// exportedCondition says whether every member that has the Service exports it, and every other one imports it.
func exportedCondition(in *input, failed map[string]error) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionExported, ObservedGeneration: in.service.Generation,
		Status: metav1.ConditionTrue, Reason: "Exported", Message: "exported by " + hub.Count(len(in.exporters()), "cluster"),
	}
	if notes := in.notStoodIn(); len(notes) > 0 {
		c.Reason, c.Message = "NotImported", strings.Join(notes, "; ")
		c.Status = metav1.ConditionFalse
	}
	for _, name := range sortedKeys(failed) {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, "NotExported", name+": "+short(name, failed[name])
		break
	}
	c.Message = hub.Clip(c.Message, v1alpha1.MaxMessage)
	return c
}
