// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Scheme knows weir's kinds, and of Kubernetes' those that controllers read and write. A fake client goes through all of a scheme at
// every write, so those that nobody reads are left out.
func Scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, admissionregistrationv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Hub returns a client of a hub on which objects stand, their status too. What is applied must be valid by config/crd.
// Faults may intercept calls; the zero value does nothing.
func Hub(t *testing.T, faults interceptor.Funcs, objects ...client.Object) client.WithWatch {
	t.Helper()
	return interceptor.NewClient(validated(t, builder(t).WithObjects(objects...).Build()), faults)
}

func builder(t *testing.T) *fake.ClientBuilder {
	t.Helper()
	return fake.NewClientBuilder().
		WithScheme(Scheme(t)).
		WithTypeConverters(converters(t)...).
		WithStatusSubresource(
			&v1alpha1.Cluster{}, &v1alpha1.GlobalService{}, &v1alpha1.ClusterDrain{}, &v1alpha1.TrafficPolicy{},
			&v1alpha1.FederatedDeployment{}, &v1alpha1.FederatedService{}, &v1alpha1.ReplicaSchedulingPreference{},
			&v1alpha1.ResourceBinding{}, &v1alpha1.Work{},
		)
}
