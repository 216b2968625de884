// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/pb"
)

func reconciler(t *testing.T, objects ...client.Object) (*Reconciler, *fleettest.Link, *events.FakeRecorder) {
	t.Helper()
	hub := fleettest.Hub(t, interceptor.Funcs{}, objects...)
	link := fleettest.NewLink(t)
	recorder := events.NewFakeRecorder(20)
	return &Reconciler{Client: hub, Door: member.NewDoor(hub, "weir-system", member.NewTerm("hub", &fleettest.Epochs{})), Members: link.Server, Recorder: recorder, Now: time.Now}, link, recorder
}

func (r *Reconciler) look(t *testing.T) *v1alpha1.Cluster {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "c2"}}); err != nil {
		t.Fatal(err)
	}
	var c v1alpha1.Cluster
	if err := r.Client.Get(t.Context(), client.ObjectKey{Name: "c2"}, &c); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return &c
}

func readyReason(c *v1alpha1.Cluster) string {
	if got := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); got != nil {
		return got.Reason
	}
	return ""
}

func TestAMemberIsAdmittedHeardAndForgotten(t *testing.T) {
	server := fleettest.NewAPIServer(t)
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint: server.URL, CABundle: server.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: "s"},
	}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: "s"}, Data: map[string][]byte{member.KubeconfigKey: server.Kubeconfig("t")}}
	r, link, recorder := reconciler(t, c, secret)
	if got := r.look(t); readyReason(got) != v1alpha1.ReasonAgentSilent || link.Server.Snapshot("c2") == nil {
		t.Fatalf("before it was heard: %+v", got.Status)
	}
	agent := link.Join(t, "c2", &pb.MemberFacts{Istiods: []*pb.Istiod{{Name: "istiod-1"}}, IstioClusterId: "c2", IstioVersion: "1.31.0"})
	got := r.look(t)
	if readyReason(got) != "Joined" || got.Status.Agent.Version != "v1.2.3" || got.Status.Istio.Version != "1.31.0" {
		t.Fatalf("heard: %+v", got.Status)
	}
	version := got.ResourceVersion
	if got = r.look(t); got.ResourceVersion != version {
		t.Error("nothing changed, and its status was written again")
	}
	link.Leave(t, "c2", agent)
	r.Now = func() time.Time { return time.Now().Add(time.Hour) }
	if got = r.look(t); readyReason(got) != v1alpha1.ReasonAgentSilent {
		t.Errorf("its agent alone is gone: %+v", got.Status)
	}
	server.Stop()
	if got = r.look(t); readyReason(got) != v1alpha1.ReasonContactLost || got.Status.Istio == nil {
		t.Errorf("an hour after its end: %+v", got.Status)
	}
	if err := r.Client.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	r.look(t)
	if link.Server.Snapshot("c2") != nil {
		t.Error("a member that is gone is still admitted")
	}
	close(recorder.Events)
	var told []string
	for e := range recorder.Events {
		told = append(told, e)
	}
	all := strings.Join(told, "\n")
	for _, want := range []string{"Normal Joined", "Warning ContactLost", "Normal Beating"} {
		if !strings.Contains(all, want) {
			t.Errorf("no event %q in\n%s", want, all)
		}
	}
	if strings.Count(all, "Joined") != 1 {
		t.Errorf("a turn was told more than once:\n%s", all)
	}
}

func TestAMemberThatAsksForWhatIsNotServedIsNotAdmitted(t *testing.T) {
	r, link, _ := reconciler(t, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint: "https://c2", CABundle: []byte("x"), SyncMode: v1alpha1.SyncPull,
	}})
	if got := r.look(t); readyReason(got) != v1alpha1.ReasonNotSupported || link.Server.Snapshot("c2") != nil {
		t.Errorf("got %+v", got.Status)
	}
}
