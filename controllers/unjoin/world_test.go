// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package unjoin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
)

// errKilled is what a hub's API server answers to one that is killed before it hears.
var errKilled = errors.New("killed")

// world is a hub with one member that leaves, c2, and the parts of the hub that help it to.
type world struct {
	*testing.T

	hub      client.WithWatch
	member   *fleettest.APIServer
	recorder *events.FakeRecorder
	now      time.Time
	revoked  []string

	// writes counts what the controller wrote on the hub; at dieAt it is killed, before or after the write is done.
	writes, dieAt int
	after         bool
}

func object(gvk schema.GroupVersionKind, namespace, name string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(types.UID(gvk.Kind + name))
	u.SetLabels(map[string]string{member.LabelManaged: member.LabelManagedValue})
	if change != nil {
		change(u)
	}
	return u
}

func istioKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: kind}
}

func mcsKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "multicluster.x-k8s.io", Version: "v1beta1", Kind: kind}
}

func fenceKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
}

// placed is what weir put into the member for demo/echo, and what it did not.
func placed() (ours, others []client.Object) {
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	ours = []client.Object{
		object(istioKind("VirtualService"), "demo", "weir-echo", nil),
		object(istioKind("DestinationRule"), "demo", "weir-echo", nil),
		object(mcsKind("ServiceExport"), "demo", "echo", nil),
		object(mcsKind("ServiceImport"), "demo", "echo", nil),
		object(service, "demo", "echo", func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"weir.io/stand-in": "true"}) }),
		object(fenceKind("MutatingAdmissionPolicy"), "", "weir-fence.demo.echo", nil),
		object(fenceKind("MutatingAdmissionPolicyBinding"), "", "weir-fence.demo.echo", nil),
	}
	others = []client.Object{
		object(istioKind("VirtualService"), "demo", "weir-mine", func(u *unstructured.Unstructured) { u.SetLabels(nil) }),
		object(mcsKind("ServiceExport"), "demo", "mine", func(u *unstructured.Unstructured) { u.SetLabels(nil) }),
		// Its owner applied his own over the one that stood in.
		object(service, "demo", "mine", func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{"weir.io/stand-in": "true"})
			u.Object["spec"] = map[string]any{"selector": map[string]any{"app": "mine"}}
		}),
	}
	return ours, others
}

func service(name string) *v1alpha1.GlobalService {
	return &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
}

func workOf(kind, name, raw string) *v1alpha1.Work {
	w := &v1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.MemberNamespace("c2"), Name: v1alpha1.WorkName(kind, "shop", name), UID: types.UID(kind + name),
		Labels: v1alpha1.WorkLabels(kind, "shop", name), Finalizers: []string{"weir.io/placed"},
		Annotations: map[string]string{v1alpha1.AnnotationWorkCluster: "c2"},
	}}
	w.Spec.Workload.Manifests = []v1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}
	return w
}

func drained() *v1alpha1.ClusterDrain {
	yes := true
	d := &v1alpha1.ClusterDrain{
		ObjectMeta: metav1.ObjectMeta{Name: "c2", UID: "drain", Finalizers: []string{"weir.io/undrain"}},
		Spec:       v1alpha1.ClusterDrainSpec{ClusterName: "c2", Desired: v1alpha1.OutOfService},
	}
	d.Status = v1alpha1.ClusterDrainStatus{Goal: v1alpha1.GoalDrain, Progress: "1/1", SafeToPowerOff: &yes, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionDrained, Status: metav1.ConditionTrue, Reason: "SafeToPowerOff", Message: "c2 may be switched off"},
	}}
	return d
}

// newWorld is a fleet whose member c2 was drained and is then deleted by kubectl weir unjoin.
func newWorld(t *testing.T, mode string, more ...client.Object) *world {
	t.Helper()
	ours, others := placed()
	fenced := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "local-0", UID: "pod", Labels: map[string]string{"app": "local", member.LabelFence: "true", member.LabelFenceGeneration: "3"},
		Annotations: map[string]string{member.AnnotationDeletionCost: member.FencedCost, "team": "a"},
	}}
	theirs := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "by-hand", UID: "hand", Labels: map[string]string{member.LabelFence: "true"}}}
	w := &world{T: t, member: fleettest.NewAPIServer(t, append(append(ours, others...), fenced, theirs)...), recorder: events.NewFakeRecorder(100)}
	w.now = time.Now().Truncate(time.Second)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "c2", UID: "c2", Finalizers: []string{v1alpha1.FinalizerUnjoin}, Annotations: map[string]string{v1alpha1.AnnotationUnjoin: mode}},
		Spec: v1alpha1.ClusterSpec{
			APIEndpoint: w.member.URL, CABundle: w.member.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: "weir-member-c2"},
		},
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: "weir-member-c2"},
		Data:       map[string][]byte{member.KubeconfigKey: w.member.Kubeconfig("t")},
	}
	objects := append([]client.Object{
		cluster, secret, drained(), service("echo"), service("mine"),
		workOf("Service", "web", `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web"}}`),
		workOf("Deployment", "web", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"},"spec":{"replicas":0}}`),
	}, more...)
	w.hub = fleettest.Hub(t, interceptor.Funcs{}, objects...)
	if err := w.hub.Delete(t.Context(), cluster.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	return w
}

// reconciler is the controller in a hub that has just been started.
func (w *world) reconciler() *Reconciler {
	write := func(do func() error) error {
		w.writes++
		if w.writes != w.dieAt {
			return do()
		}
		if w.after {
			if err := do(); err != nil {
				return err
			}
		}
		return errKilled
	}
	mortal := interceptor.NewClient(w.hub, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return write(func() error { return c.SubResource(sub).Apply(ctx, o, opts...) })
		},
	})
	return &Reconciler{
		Client: mortal, Door: member.NewDoor(w.hub, "weir-system", member.NewTerm("hub", &fleettest.Epochs{})), Recorder: w.recorder, Now: func() time.Time { return w.now },
		Namespace: "weir-system", Tokens: w,
	}
}

// Revoke notes whose join tokens went.
func (w *world) Revoke(_ context.Context, cluster, keep string) (int, error) {
	w.revoked = append(w.revoked, cluster+keep)
	return 1, nil
}

// help does what the other controllers do: records of what shall go take copies with them, and a drain that is deleted ends.
func (w *world) help() {
	w.Helper()
	var works v1alpha1.WorkList
	var drains v1alpha1.ClusterDrainList
	for _, list := range []client.ObjectList{&works, &drains} {
		if err := w.hub.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
	}
	free := func(o client.Object, finalizer string) {
		if !o.GetDeletionTimestamp().IsZero() && controllerutil.RemoveFinalizer(o, finalizer) {
			if err := w.hub.Update(w.Context(), o); err != nil {
				w.Fatal(err)
			}
		}
	}
	for i := range works.Items {
		free(&works.Items[i], "weir.io/placed")
	}
	for i := range drains.Items {
		free(&drains.Items[i], "weir.io/undrain")
	}
}

// look lets the controller look once, and returns the Cluster as it then stands; nil: it is gone.
func (w *world) look() *v1alpha1.Cluster {
	w.Helper()
	_, err := w.reconciler().Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "c2"}})
	if err != nil && !errors.Is(err, errKilled) {
		w.Fatal(err)
	}
	return w.cluster()
}

func (w *world) cluster() *v1alpha1.Cluster {
	w.Helper()
	var c v1alpha1.Cluster
	err := w.hub.Get(w.Context(), types.NamespacedName{Name: "c2"}, &c)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return &c
}

// steps looks until the Cluster is gone, and returns each step that was told.
func (w *world) steps() []v1alpha1.LeavingStep {
	w.Helper()
	var out []v1alpha1.LeavingStep
	for range 40 {
		c := w.look()
		if c == nil {
			return out
		}
		if l := c.Status.Leaving; l != nil && (len(out) == 0 || out[len(out)-1] != l.Step) {
			out = append(out, l.Step)
		}
		w.help()
		w.now = w.now.Add(4 * time.Second)
	}
	w.Fatalf("it is never done: %v, %+v", out, w.cluster().Status.Leaving)
	return nil
}

// remains names what stands in the member of these.
func (w *world) remains(all []client.Object) []string {
	w.Helper()
	var out []string
	for _, o := range all {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
		if err := w.member.Store.Get(w.Context(), client.ObjectKeyFromObject(o), u); err == nil {
			out = append(out, u.GetKind()+" "+strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/"))
		}
	}
	return out
}
