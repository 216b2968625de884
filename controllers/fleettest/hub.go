// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Scheme knows Kubernetes' kinds and weir's.
func Scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
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
