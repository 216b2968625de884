// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

const manager = "weir-test"

// bench is a member with an API server, and a door to it under a clock that stands still.
type bench struct {
	server  *fleettest.APIServer
	hub     client.Client
	door    *Door
	cluster *v1alpha1.Cluster
	now     time.Time
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{server: fleettest.NewAPIServer(t, objects...), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.hub = fleettest.Hub(t, interceptor.Funcs{}, credentials(b.server.Kubeconfig("secret-1")))
	b.door = NewDoor(b.hub, "weir-system", NewTerm("hub", &fleettest.Epochs{}))
	b.door.now = func() time.Time { return b.now }
	b.cluster = &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", Generation: 1}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint: b.server.URL, CABundle: b.server.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: "weir-member-c1"},
	}}
	return b
}

func credentials(kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: "weir-member-c1"},
		Data:       map[string][]byte{KubeconfigKey: kubeconfig},
	}
}

func (b *bench) open(t *testing.T) *Member {
	t.Helper()
	m, err := b.door.Open(t.Context(), b.cluster)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var (
	ruleRef   = Ref{Resource: schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "virtualservices"}, Namespace: "demo", Name: "echo"}
	exportRef = Ref{Resource: schema.GroupVersionResource{Group: "multicluster.x-k8s.io", Version: "v1beta1", Resource: "serviceexports"}, Namespace: "demo", Name: "echo"}
)

// rule is a VirtualService with these spec fields, as JSON.
func rule(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"namespace": "demo", "name": "echo"}, "spec": `+spec+`}`)
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// apply applies and says whether something was written, by what the member tells and by what its API server saw.
func (b *bench) apply(t *testing.T, want *unstructured.Unstructured) (bool, error) {
	t.Helper()
	m := b.open(t)
	b.server.Requests()
	wrote, err := m.Apply(t.Context(), manager, ruleRef, want)
	if seen := len(b.server.Writes()) > 0; seen != wrote && err == nil {
		t.Fatalf("Apply says it wrote: %t; the API server was written to: %t", wrote, seen)
	}
	return wrote, err
}

// edit changes the object as somebody else does, by an update.
func (b *bench) edit(t *testing.T, who string, change func(*unstructured.Unstructured)) {
	t.Helper()
	u := b.stored(t)
	change(u)
	if err := b.server.Store.Update(t.Context(), u, client.FieldOwner(who)); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) stored(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := rule(t, "{}")
	if err := b.server.Store.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func valueAt(u *unstructured.Unstructured, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	return v
}

// wantForeign fails unless err is a ForeignError that names who.
func wantForeign(t *testing.T, err error, who, what string) {
	t.Helper()
	var foreign *ForeignError
	if !errors.As(err, &foreign) {
		t.Fatalf("got %v, want a ForeignError", err)
	}
	if strings.Join(foreign.Managers, ",") != who || !strings.Contains(foreign.What, what) || foreign.Cluster != "c1" || foreign.Ref != ruleRef {
		t.Errorf("got %+v, want %s and %q", foreign, who, what)
	}
	for _, part := range []string{"c1", "virtualservices demo/echo", who} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
}
