// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/identity"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(ago time.Duration) *metav1.Time {
	t := metav1.NewTime(now.Add(-ago))
	return &t
}

// shell runs kubectl weir against a hub.
type shell struct {
	*testing.T

	hub  *fleettest.APIServer
	home string
}

func newShell(t *testing.T, objects ...client.Object) *shell {
	t.Helper()
	s := &shell{T: t, home: t.TempDir()}
	s.hub = fleettest.NewAPIServer(t, append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "hub-1"}}, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: identity.HubConfigMap},
		Data:       map[string]string{identity.KeyAddress: "hub.example.com:443", identity.KeyCA: "hub's CA"},
	})...)
	s.file("hub", string(s.hub.Kubeconfig("admin")))
	return s
}

// file writes a file and returns its path.
func (s *shell) file(name, text string) string {
	s.Helper()
	path := filepath.Join(s.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// result is what a command left behind.
type result struct {
	code          int
	out, progress string
	failed        string
	hubWrote      []string
}

func (s *shell) run(args ...string) result {
	s.Helper()
	s.hub.Requests()
	cmd := New()
	var out, progress bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&progress)
	cmd.SetArgs(append([]string{"--kubeconfig", filepath.Join(s.home, "hub")}, args...))
	err := cmd.ExecuteContext(s.Context())
	r := result{code: ExitCode(err), out: out.String(), progress: progress.String(), hubWrote: s.hub.Writes()}
	if err != nil {
		r.failed = err.Error()
	}
	return r
}

// want fails unless the command ended with code and said all of these, in its error or on standard output.
func (r result) want(t *testing.T, code int, says ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d: %s\n%s", r.code, code, r.failed, r.out)
	}
	for _, s := range says {
		if !strings.Contains(r.failed+"\n"+r.out, s) {
			t.Errorf("neither %q nor\n%s\nsays %q", r.failed, r.out, s)
		}
	}
}

func drainObject(name string, change func(*v1alpha1.ClusterDrain)) *v1alpha1.ClusterDrain {
	d := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: name, Desired: v1alpha1.OutOfService}}
	change(d)
	return d
}

func clusterObject(name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{APIEndpoint: "https://" + name, CABundle: []byte("x")}}
}

// put stores an object with its status.
func (s *shell) put(o client.Object) {
	s.Helper()
	whole, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		s.Fatalf("%T is no object", o)
	}
	if err := s.hub.Store.Create(s.Context(), o); err != nil {
		s.Fatal(err)
	}
	whole.SetResourceVersion(o.GetResourceVersion())
	if err := s.hub.Store.Status().Update(s.Context(), whole); err != nil {
		s.Fatal(err)
	}
}
