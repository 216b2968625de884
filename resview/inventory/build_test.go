// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// born is when everything in these tests was made.
var born = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", CreationTimestamp: born,
	}
}

func globalService(namespace, name string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: meta(namespace, name)}
	s.Annotations = map[string]string{"weir.io/global": "true"}
	s.Spec = corev1.ServiceSpec{
		ClusterIP: "10.96.0.10", Selector: map[string]string{"app": name},
		Ports: []corev1.ServicePort{{Name: "http", Port: 8080}},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// appPod is a ready pod of app that runs a sidecar and belongs to ReplicaSet APP-rs.
func appPod(namespace, app, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(namespace, name)}
	p.Labels = map[string]string{"app": app}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: app + "-rs", Controller: new(true)}}
	p.Spec.NodeName = "node-1"
	p.Spec.TerminationGracePeriodSeconds = new(int64(30))
	p.Spec.Containers = []corev1.Container{{Name: "app", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 9090}}}}
	p.Spec.InitContainers = []corev1.Container{
		{Name: "istio-init", Args: []string{"istio-iptables"}},
		{Name: proxyContainer, Args: []string{"proxy", "sidecar"}, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.1.0.5",
		Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "app", Ready: true}},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "istio-init"}, {Name: proxyContainer, Ready: true}},
	}
	p.Status.InitContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{}
	for _, f := range change {
		f(p)
	}
	return p
}

func withoutSidecar(p *corev1.Pod) { p.Spec.InitContainers, p.Status.InitContainerStatuses = nil, nil }

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func gatewayPod(namespace, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	return appPod(namespace, name, name, append([]func(*corev1.Pod){withoutSidecar, func(p *corev1.Pod) {
		p.Labels["istio"] = name
		p.Spec.Containers = []corev1.Container{{
			Name: proxyContainer, Args: []string{"proxy", "router"},
			Env: []corev1.EnvVar{{Name: "ISTIO_META_CLUSTER_ID", Value: "c1"}},
		}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: proxyContainer, Ready: true}}
	}}, change...)...)
}

// istiodPod is a ready istiod of cluster c1.
func istiodPod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	return appPod("istio-system", "istiod", name, append([]func(*corev1.Pod){withoutSidecar, func(p *corev1.Pod) {
		p.Status.PodIP = "10.1.0.1"
		p.Spec.Containers = []corev1.Container{{
			Name: discoveryContainer, Image: "registry.example/pilot:1.31.0", Args: []string{"discovery", "--domain", "cluster.local"},
			Env: []corev1.EnvVar{{Name: "CLUSTER_ID", Value: "c1"}},
		}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: discoveryContainer, Ready: true, ContainerID: "containerd://" + name}}
	}}, change...)...)
}

func withEnv(name, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		for i := range c.Env {
			if c.Env[i].Name == name {
				c.Env[i].Value = value
				return
			}
		}
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: meta("", name)}
	n.Labels = labels
	return n
}

// replicaSetOf is the ReplicaSet APP-rs of Deployment APP.
func replicaSetOf(namespace, app string) *appsv1.ReplicaSet {
	r := &appsv1.ReplicaSet{ObjectMeta: meta(namespace, app+"-rs")}
	r.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: app, Controller: new(true)}}
	return r
}

func deployment(namespace, app string, replicas int32, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: meta(namespace, app)}
	d.Generation = 3
	d.Spec.Replicas = &replicas
	d.Spec.Template.Labels = map[string]string{"app": app}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas}
	for _, f := range change {
		f(d)
	}
	return d
}

// object reads an object from YAML.
func object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		tb.Fatalf("read object: %v", err)
	}
	return out
}

// kept returns an object as the informers would hold it.
func kept[T any](tb testing.TB, o T) T {
	tb.Helper()
	out, err := trim(o)
	if err != nil {
		tb.Fatal(err)
	}
	return out.(T)
}
