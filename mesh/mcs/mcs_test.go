// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/weir-io/weir/mesh/mcs"
)

// start is when the first export of each test was made.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// hello is the Service that the conformance suite uses, with IPs.
func hello(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hello", Labels: map[string]string{"own": "label"}},
		Spec: corev1.ServiceSpec{
			Type:            corev1.ServiceTypeClusterIP,
			ClusterIP:       "10.0.0.1",
			ClusterIPs:      []string{"10.0.0.1", "fd00::1"},
			IPFamilies:      []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
			SessionAffinity: corev1.ServiceAffinityClientIP,
			SessionAffinityConfig: &corev1.SessionAffinityConfig{
				ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(10))},
			},
			Ports: []corev1.ServicePort{
				{Name: "tcp", Protocol: corev1.ProtocolTCP, Port: 42},
				{Name: "udp", Protocol: corev1.ProtocolUDP, Port: 42},
			},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func headless(s *corev1.Service) {
	s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ClusterIPNone, []string{corev1.ClusterIPNone}
}

func external(s *corev1.Service) {
	s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}
}

func ports(list ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = list }
}

// export makes the export of a cluster, so many seconds after the first.
func export(cluster string, after int, service *corev1.Service, change ...func(*mcsv1beta1.ServiceExport)) mcs.Export {
	se := mcs.NewServiceExport("ns", "hello")
	se.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(after) * time.Second))
	for _, c := range change {
		c(se)
	}
	return mcs.NewExport(cluster, se, service)
}

func condition(list []metav1.Condition, kind string) metav1.Condition {
	for _, c := range list {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{Reason: "Missing " + kind}
}
