// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/pb"
)

func TestAMemberThatCannotBeWrittenToIsNotReadyAndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*fleettest.APIServer)
		reason string
		says   string
	}{
		"it belongs to another hub": {func(s *fleettest.APIServer) {
			e := &v1alpha1.FederationEpoch{
				ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FederationEpochName}, Spec: v1alpha1.FederationEpochSpec{HubUID: "hub-2", Epoch: 3},
			}
			if err := s.Store.Create(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}, v1alpha1.ReasonOtherHub, "kubectl weir join c2 --take-over"},
		"its agent's release is old":    {(*fleettest.APIServer).Unknow, v1alpha1.ReasonEpochNotTaken, "does not know the kind FederationEpoch"},
		"its policies are missing":      {(*fleettest.APIServer).Unguard, v1alpha1.ReasonEpochNotTaken, "upgrade of the release"},
		"nothing is wrong with a first": {func(*fleettest.APIServer) {}, "Joined", "can write to it"},
	} {
		t.Run(name, func(t *testing.T) {
			server := fleettest.NewAPIServer(t)
			c.before(server)
			registered := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterSpec{
				APIEndpoint: server.URL, CABundle: server.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: "s"},
			}}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: "s"}, Data: map[string][]byte{member.KubeconfigKey: server.Kubeconfig("t")}}
			r, link, _ := reconciler(t, registered, secret)
			if got := r.look(t); c.reason == v1alpha1.ReasonOtherHub && readyReason(got) != c.reason {
				t.Errorf("before its agent is heard: %s", readyReason(got))
			}
			link.Join(t, "c2", &pb.MemberFacts{Istiods: []*pb.Istiod{{Name: "istiod-1"}}, IstioClusterId: "c2", IstioVersion: "1.31.0"})
			got := meta.FindStatusCondition(r.look(t).Status.Conditions, v1alpha1.ConditionReady)
			if got.Reason != c.reason || !strings.Contains(got.Message, c.says) || (got.Status == metav1.ConditionTrue) != (c.reason == "Joined") {
				t.Errorf("got %+v", got)
			}
			server.Guard()
			if c.reason == v1alpha1.ReasonEpochNotTaken && readyReason(r.look(t)) != "Joined" {
				t.Error("it was upgraded, and is not ready")
			}
		})
	}
}
