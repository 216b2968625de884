// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/pb"
)

func TestAClusterThatIsMadeAnewIsAnotherRegistration(t *testing.T) {
	server := fleettest.NewAPIServer(t)
	made := func(uid types.UID) *v1alpha1.Cluster {
		return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2", UID: uid}, Spec: v1alpha1.ClusterSpec{
			APIEndpoint: server.URL, CABundle: server.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: "s"},
		}}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: "s"}, Data: map[string][]byte{member.KubeconfigKey: server.Kubeconfig("t")}}
	r, link, _ := reconciler(t, made("first"), secret)
	first := r.look(t)
	link.Join(t, "c2", &pb.MemberFacts{})
	if r.look(t); !link.Server.Snapshot("c2").Connected {
		t.Fatal("a look that changes nothing ended its session")
	}
	if err := r.Client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Create(t.Context(), made("second")); err != nil {
		t.Fatal(err)
	}
	if r.look(t); link.Server.Snapshot("c2").Connected || link.Server.Snapshot("c2").Hello != nil {
		t.Error("the agent of the first is heard as that of the second")
	}
}
