// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func meshConfig(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta("istio-system", name), Data: map[string]string{meshKey: text}}
}

// readerOver returns a reader of an API server that holds the objects, and the count of questions to istiods.
func readerOver(version func() (string, error), objects ...runtime.Object) (*reader, *fake.Clientset, *int) {
	kube, asked := fake.NewClientset(objects...), 0
	return &reader{kube: kube, namespace: "istio-system", version: func(context.Context, string) (string, error) {
		asked++
		return version()
	}}, kube, &asked
}

func fine() (string, error) { return "1.31.0-abc-Clean", nil }

func TestSettingsAreThoseOfIstiodsRevision(t *testing.T) {
	objects := []runtime.Object{meshConfig("istio", "rootNamespace: one"), meshConfig("istio-canary", "rootNamespace: two")}
	for want, pods := range map[string][]*corev1.Pod{
		"one": {istiodPod("istiod-1", withEnv("REVISION", "default"))},
		"two": {istiodPod("istiod-1", withEnv("REVISION", "canary"))},
	} {
		r, _, _ := readerOver(fine, objects...)
		got, err := r.read(t.Context(), settings{}, pods)
		if err != nil || got.mesh.rootNamespace != want || got.meshError != "" {
			t.Errorf("root namespace %q, want %q, error %v", got.mesh.rootNamespace, want, err)
		}
	}
}

func TestSettingsThatMayNotBeReadAreNamedWithTheWayOut(t *testing.T) {
	r, kube, _ := readerOver(fine)
	got, err := r.read(t.Context(), settings{}, nil)
	if err != nil || !strings.Contains(got.meshError, "no ConfigMap istio") || got.mesh.drain != defaultDrain {
		t.Errorf("without a ConfigMap: %+v, error %v", got, err)
	}
	kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("configmaps"), "istio", errors.New("no"))
	})
	got, err = r.read(t.Context(), settings{}, nil)
	if err != nil || !strings.Contains(got.meshError, "may not read") || got.meshRemedy == "" {
		t.Errorf("without the right: %+v, error %v", got, err)
	}
}

func TestAServerThatFailsLeavesTheSettingsAsTheyWere(t *testing.T) {
	last := settings{mesh: meshSettings{rootNamespace: "root"}, fenceAdmission: true}
	for _, resource := range []string{"configmaps", "resource"} {
		r, kube, _ := readerOver(fine, meshConfig("istio", "rootNamespace: new"))
		kube.PrependReactor("get", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewServiceUnavailable("starting")
		})
		got, err := r.read(t.Context(), last, nil)
		if err == nil || got.mesh.rootNamespace != "root" || !got.fenceAdmission {
			t.Errorf("%s fails: %+v, error %v", resource, got, err)
		}
	}
}

func TestAnIstiodIsAskedOnceForEachRun(t *testing.T) {
	r, _, asked := readerOver(fine, meshConfig("istio", ""))
	pod := istiodPod("istiod-1")
	first, err := r.read(t.Context(), settings{}, []*corev1.Pod{pod})
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.read(t.Context(), first, []*corev1.Pod{pod})
	if err != nil || *asked != 1 || again.versions[processOf(pod)] != "1.31.0" {
		t.Errorf("asked %d times, versions %v, error %v", *asked, again.versions, err)
	}
	restarted := istiodPod("istiod-1", func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ContainerID = "containerd://other" })
	after, err := r.read(t.Context(), again, []*corev1.Pod{restarted})
	if err != nil || *asked != 2 || len(after.versions) != 1 {
		t.Errorf("after a restart: asked %d times, versions %v, error %v", *asked, after.versions, err)
	}
}

func TestAnIstiodThatDoesNotAnswerIsKnownByItsImage(t *testing.T) {
	r, _, _ := readerOver(func() (string, error) { return "", errors.New("no route to host") }, meshConfig("istio", ""))
	tagged, untagged := istiodPod("istiod-1"), istiodPod("istiod-2", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "pilot" })
	got, err := r.read(t.Context(), settings{}, []*corev1.Pod{tagged, untagged})
	if err != nil || got.versions[processOf(tagged)] != "1.31.0" || got.versions[processOf(untagged)] != "" {
		t.Errorf("versions %v, error %v", got.versions, err)
	}
}

func TestTheFenceAtCreationNeedsTheStableAPI(t *testing.T) {
	for version, want := range map[string]bool{"v1": true, "v1beta1": false} {
		r, kube, _ := readerOver(fine, meshConfig("istio", ""))
		kube.Discovery().(*fakediscovery.FakeDiscovery).Resources = []*metav1.APIResourceList{{
			GroupVersion: "admissionregistration.k8s.io/" + version,
			APIResources: []metav1.APIResource{{Name: "mutatingadmissionpolicies"}},
		}}
		got, err := r.read(t.Context(), settings{}, nil)
		if err != nil || got.fenceAdmission != want {
			t.Errorf("%s: %v, error %v", version, got.fenceAdmission, err)
		}
	}
}

func TestOnlyAVersionIsTakenForOne(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a version":       {http.StatusOK, "1.31.0-abc-Clean\n", "1.31.0-abc-Clean"},
		"a refusal":       {http.StatusForbidden, "1.31.0", ""},
		"a page":          {http.StatusOK, "<html> <body>", ""},
		"control letters": {http.StatusOK, "1.31\x1b[2J", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/version" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			got, err := askIstiod(server.Client())(t.Context(), strings.TrimPrefix(server.URL, "http://"))
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, error %v", got, err)
			}
		})
	}
}

func TestALongAnswerIsReadInPart(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("9", 1<<20)))
	}))
	defer server.Close()
	got, err := askIstiod(server.Client())(t.Context(), strings.TrimPrefix(server.URL, "http://"))
	if err != nil || len(got) != maxVersion {
		t.Errorf("read %d bytes, error %v", len(got), err)
	}
}
