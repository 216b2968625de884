// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/weir-io/weir/resview/pb"
)

// service puts together everything that the hub needs to know of a global Service. Rules are those that selectRules chose.
func (x *index) service(s *corev1.Service, rules []*pb.Rule) *pb.ServiceFacts {
	pods := x.behind[nameOf(s)]
	out := &pb.ServiceFacts{
		Ref:             &pb.ServiceRef{Namespace: s.Namespace, Name: s.Name},
		Uid:             string(s.UID),
		ResourceVersion: s.ResourceVersion,
		CreatedUnix:     max(s.CreationTimestamp.Unix(), 0),
		Annotations:     boundAnnotations(s.Annotations),
		Type:            serviceType(s),
		Ports:           ports(s, pods),
		SessionAffinity: string(s.Spec.SessionAffinity),
		Exported:        x.exports[nameOf(s)],
		Rules:           rules,
		Ambient:         x.ambient[s.Namespace],
		Selector:        s.Spec.Selector,
	}
	if s.Spec.ClusterIP != corev1.ClusterIPNone {
		out.ClusterIp = s.Spec.ClusterIP
	}
	if p := s.Spec.InternalTrafficPolicy; p != nil {
		out.InternalTrafficPolicy = string(*p)
	}
	if d := s.Spec.TrafficDistribution; d != nil {
		out.TrafficDistribution = *d
	}
	for _, p := range pods {
		out.Pods = append(out.Pods, podFacts(p, x.owner(p)))
		if p.Labels[labelAmbient] == ambient {
			out.Ambient = true
		}
	}
	out.Workloads = x.workloadsOf(s, out.Pods)
	out.Budgets = x.budgetsOf(s, pods)
	return out
}

// workloadsOf returns the workloads that make pods for a Service, those with no pod at present among them, sorted by kind
// and name. Of a kind that this package does not know, the pods tell all there is to tell.
func (x *index) workloadsOf(s *corev1.Service, pods []*pb.Pod) []*pb.WorkloadFacts {
	named := map[string]bool{}
	for _, p := range pods {
		named[p.GetWorkload()] = true
	}
	known := map[string]*pb.WorkloadFacts{}
	for _, w := range x.workloads[s.Namespace] {
		if named[w.name()] || selects(s.Spec.Selector, w.labels) {
			known[w.name()] = w.facts
		}
	}
	counted := map[string]*pb.WorkloadFacts{}
	for _, p := range pods {
		name := p.GetWorkload()
		if name == "" || known[name] != nil {
			continue
		}
		kind, short, _ := strings.Cut(name, "/")
		w := counted[name]
		if w == nil {
			w = &pb.WorkloadFacts{Kind: kind, Name: short}
			counted[name] = w
		}
		if !p.GetTerminating() {
			w.Replicas++
		}
		if p.GetReady() {
			w.Ready++
		}
	}
	maps.Copy(known, counted)
	return slices.SortedFunc(maps.Values(known), func(a, b *pb.WorkloadFacts) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
}

func serviceType(s *corev1.Service) string {
	switch {
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		return string(s.Spec.Type)
	case s.Spec.ClusterIP == corev1.ClusterIPNone:
		return "Headless"
	}
	return string(cmp.Or(s.Spec.Type, corev1.ServiceTypeClusterIP))
}

func ports(s *corev1.Service, pods []*corev1.Pod) []*pb.Port {
	var out []*pb.Port
	for _, p := range s.Spec.Ports {
		port := &pb.Port{
			Name:       p.Name,
			Port:       p.Port,
			Protocol:   string(cmp.Or(p.Protocol, corev1.ProtocolTCP)),
			TargetPort: targetPort(p, pods),
		}
		if p.AppProtocol != nil {
			port.AppProtocol = *p.AppProtocol
		}
		out = append(out, port)
	}
	return out
}

// targetPort returns the port of the pods. A port that is given by name is the first pod's of that name; 0 where no pod
// has one.
func targetPort(p corev1.ServicePort, pods []*corev1.Pod) int32 {
	if p.TargetPort.Type == intstr.Int {
		return cmp.Or(p.TargetPort.IntVal, p.Port)
	}
	for _, pod := range pods {
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			for _, cp := range c.Ports {
				if cp.Name == p.TargetPort.StrVal && cmp.Or(cp.Protocol, corev1.ProtocolTCP) == cmp.Or(p.Protocol, corev1.ProtocolTCP) {
					return cp.ContainerPort
				}
			}
		}
	}
	return 0
}
