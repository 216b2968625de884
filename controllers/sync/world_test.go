// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/sched/adapter"
)

const web = `
metadata: {namespace: shop, name: web, uid: u1, generation: 1}
spec:
  template:
    metadata: {labels: {team: shop}}
    spec:
      replicas: 5
      template: {spec: {containers: [{name: web, image: a, resources: {requests: {cpu: 1000m}}}]}}
  placement: {}
  overrides:
  - clusterName: c2
    clusterOverrides: [{path: /spec/template/spec/containers/0/image, value: b}]
  retainedFields: [/metadata/annotations/note, /spec/minReadySeconds]
`

func parsed[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

var key = types.NamespacedName{Namespace: "shop", Name: "web"}

// world is a hub with its reconcilers, and members c1 and c2 with an API server each.
type world struct {
	client.WithWatch
	*testing.T

	d       *Deployments
	s       *Services
	now     time.Time
	told    *events.FakeRecorder
	members map[string]*fleettest.APIServer
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), told: events.NewFakeRecorder(100), members: map[string]*fleettest.APIServer{}}
	for _, name := range []string{"c1", "c2"} {
		server := fleettest.NewAPIServer(t)
		w.members[name] = server
		objects = append(
			objects,
			&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: v1alpha1.ClusterSpec{
				APIEndpoint: server.URL, CABundle: server.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: name},
			}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: name}, Data: map[string][]byte{member.KubeconfigKey: server.Kubeconfig("t")}},
		)
	}
	w.WithWatch = fleettest.Hub(t, interceptor.Funcs{}, objects...)
	c := Config{Client: w, Live: w, Door: member.NewDoor(w, "weir-system", member.NewTerm("hub", &fleettest.Epochs{})), Recorder: w.told, Now: func() time.Time { return w.now }}
	w.d, w.s = NewDeployments(c, nil), NewServices(c)
	return w
}

// bound is a workload and its binding with these replicas decided and planned in c1, c2.
func bound(t *testing.T, text string, replicas ...int32) []client.Object {
	t.Helper()
	d := parsed[v1alpha1.FederatedDeployment](t, text)
	wish, errs := adapter.Wish(d, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "deployment-web", Generation: 1,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "federation.weir.io/v1alpha1", Kind: "FederatedDeployment", Name: "web", UID: "u1"}},
	}, Spec: wish}
	for i, n := range replicas {
		name := fmt.Sprintf("c%d", i+1)
		b.Spec.Clusters = append(b.Spec.Clusters, v1alpha1.BindingCluster{Name: name, Replicas: n})
		b.Spec.Plan = append(b.Spec.Plan, v1alpha1.ClusterReplicas{Name: name, Replicas: n})
	}
	return []client.Object{d, b}
}

// look reconciles once and returns the binding; nil where there is none.
func (w *world) look() *v1alpha1.ResourceBinding {
	w.Helper()
	if _, err := w.d.Reconcile(w.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		w.Fatal(err)
	}
	return w.binding()
}

func (w *world) binding() *v1alpha1.ResourceBinding {
	w.Helper()
	b := &v1alpha1.ResourceBinding{}
	err := w.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: "deployment-web"}, b)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// plan changes what is planned and decided: replicas in c1, c2.
func (w *world) plan(planned, decided []int32) {
	w.Helper()
	b := w.binding()
	b.Spec.Plan, b.Spec.Clusters = nil, nil
	for i := range planned {
		name := fmt.Sprintf("c%d", i+1)
		b.Spec.Plan = append(b.Spec.Plan, v1alpha1.ClusterReplicas{Name: name, Replicas: planned[i]})
		if decided[i] > 0 {
			b.Spec.Clusters = append(b.Spec.Clusters, v1alpha1.BindingCluster{Name: name, Replicas: decided[i]})
		}
	}
	b.Generation++
	if err := w.Update(w.Context(), b); err != nil {
		w.Fatal(err)
	}
}

// deployment is a member's copy; nil where there is none.
func (w *world) deployment(cluster string) *appsv1.Deployment {
	w.Helper()
	d := &appsv1.Deployment{}
	err := w.members[cluster].Store.Get(w.Context(), key, d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// edit changes a member's copy as somebody there does.
func (w *world) edit(cluster string, change func(*appsv1.Deployment)) {
	w.Helper()
	d := w.deployment(cluster)
	change(d)
	if err := w.members[cluster].Store.Update(w.Context(), d, client.FieldOwner("kubectl-edit")); err != nil {
		w.Fatal(err)
	}
}

// run makes a member's copy run as it is asked to.
func (w *world) run(cluster string, change ...func(*appsv1.DeploymentStatus)) {
	w.Helper()
	d := w.deployment(cluster)
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, ReadyReplicas: n, AvailableReplicas: n, UpdatedReplicas: n}
	for _, c := range change {
		c(&d.Status)
	}
	if err := w.members[cluster].Store.Status().Update(w.Context(), d); err != nil {
		w.Fatal(err)
	}
}

func (w *world) work(cluster, kind string) *v1alpha1.Work {
	w.Helper()
	out := &v1alpha1.Work{}
	err := w.Get(w.Context(), types.NamespacedName{Namespace: v1alpha1.MemberNamespace(cluster), Name: v1alpha1.WorkName(kind, "shop", "web")}, out)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return out
}

func (w *world) row(cluster string) v1alpha1.MemberReplicas {
	w.Helper()
	row := rowOf(w.binding(), cluster)
	if row == nil {
		w.Fatalf("no row for %s in %+v", cluster, w.binding().Status)
	}
	return *row
}

// quiet forgets what members were asked so far.
func (w *world) quiet() {
	for _, m := range w.members {
		m.Requests()
	}
}

func (w *world) writes() []string {
	var out []string
	for _, name := range []string{"c1", "c2"} {
		for _, write := range w.members[name].Writes() {
			out = append(out, name+" "+write)
		}
	}
	return out
}

func (w *world) changeWorkload(change func(*v1alpha1.FederatedDeployment)) {
	w.Helper()
	d := &v1alpha1.FederatedDeployment{}
	if err := w.Get(w.Context(), key, d); err != nil {
		w.Fatal(err)
	}
	change(d)
	d.Generation++
	if err := w.Update(w.Context(), d); err != nil {
		w.Fatal(err)
	}
}
