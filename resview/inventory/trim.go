// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Names of the containers that this package looks into.
const (
	proxyContainer     = "istio-proxy"
	discoveryContainer = "discovery"
)

// annotationProxyConfig holds a pod's own changes to the mesh's proxy settings.
const annotationProxyConfig = "proxy.istio.io/config"

// trim returns what is kept of an object in memory. A member may run tens of thousands of pods, and this package reads
// little of each. It leaves the object it was given as it is, and returns every kind that it does not know unchanged.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		return trimPod(o), nil
	case *corev1.Service:
		return trimService(o), nil
	case *corev1.Namespace:
		return &corev1.Namespace{ObjectMeta: trimMeta(o.ObjectMeta, true)}, nil
	case *appsv1.ReplicaSet:
		return &appsv1.ReplicaSet{
			ObjectMeta: trimMeta(o.ObjectMeta, false),
			Spec:       appsv1.ReplicaSetSpec{Replicas: o.Spec.Replicas, Template: templateLabels(o.Spec.Template)},
			Status:     appsv1.ReplicaSetStatus{ReadyReplicas: o.Status.ReadyReplicas, ObservedGeneration: o.Status.ObservedGeneration},
		}, nil
	case *appsv1.Deployment:
		return trimDeployment(o), nil
	case *appsv1.StatefulSet:
		status := o.Status
		status.Conditions = nil
		return &appsv1.StatefulSet{
			ObjectMeta: trimMeta(o.ObjectMeta, false),
			Spec:       appsv1.StatefulSetSpec{Replicas: o.Spec.Replicas, Template: templateLabels(o.Spec.Template), UpdateStrategy: o.Spec.UpdateStrategy},
			Status:     status,
		}, nil
	case *appsv1.DaemonSet:
		status := o.Status
		status.Conditions = nil
		return &appsv1.DaemonSet{
			ObjectMeta: trimMeta(o.ObjectMeta, false),
			Spec:       appsv1.DaemonSetSpec{Template: templateLabels(o.Spec.Template), UpdateStrategy: o.Spec.UpdateStrategy},
			Status:     status,
		}, nil
	case *policyv1.PodDisruptionBudget:
		spec := policyv1.PodDisruptionBudgetSpec{MinAvailable: o.Spec.MinAvailable, MaxUnavailable: o.Spec.MaxUnavailable, Selector: o.Spec.Selector}
		return &policyv1.PodDisruptionBudget{ObjectMeta: trimMeta(o.ObjectMeta, false), Spec: spec}, nil
	case *unstructured.Unstructured:
		return trimRule(o), nil
	}
	return object, nil
}

// trimDeployment keeps, besides what it wants and has, whose it is.
func trimDeployment(o *appsv1.Deployment) *appsv1.Deployment {
	out := &appsv1.Deployment{
		ObjectMeta: trimMeta(o.ObjectMeta, false),
		Spec:       appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Template: templateLabels(o.Spec.Template), Paused: o.Spec.Paused},
		Status:     o.Status,
	}
	out.Status.Conditions = nil
	if binding := o.Annotations[v1alpha1.AnnotationBinding]; binding != "" {
		out.Annotations = map[string]string{v1alpha1.AnnotationBinding: binding}
	}
	return out
}

func trimMeta(m metav1.ObjectMeta, labels bool) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Generation: m.Generation, CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp,
	}
	if labels {
		out.Labels = m.Labels
	}
	if owner := metav1.GetControllerOfNoCopy(&m); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return out
}

func templateLabels(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: t.Labels}}
}

func trimService(s *corev1.Service) *corev1.Service {
	out := &corev1.Service{ObjectMeta: trimMeta(s.ObjectMeta, true), Spec: s.Spec, Status: s.Status}
	out.Annotations = ours(s.Annotations)
	out.Status.Conditions = nil
	return out
}

func trimPod(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: trimMeta(p.ObjectMeta, true),
		Spec: corev1.PodSpec{
			NodeName:                      p.Spec.NodeName,
			TerminationGracePeriodSeconds: p.Spec.TerminationGracePeriodSeconds,
		},
		Status: corev1.PodStatus{
			Phase:                 p.Status.Phase,
			PodIP:                 p.Status.PodIP,
			ContainerStatuses:     trimStatuses(p.Status.ContainerStatuses),
			InitContainerStatuses: trimStatuses(p.Status.InitContainerStatuses),
		},
	}
	if config, ok := p.Annotations[annotationProxyConfig]; ok {
		out.Annotations = map[string]string{annotationProxyConfig: config}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	for i := range p.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, trimContainer(&p.Spec.Containers[i]))
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; isSidecarContainer(c) {
			out.Spec.InitContainers = append(out.Spec.InitContainers, trimContainer(c))
		}
	}
	return out
}

// isSidecarContainer tells a container that starts before the application's and then stays from one that only prepares.
func isSidecarContainer(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func trimContainer(c *corev1.Container) corev1.Container {
	out := corev1.Container{Name: c.Name, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
	if c.Name != proxyContainer && c.Name != discoveryContainer {
		return out
	}
	out.Image, out.Args = c.Image, c.Args
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			out.Env = append(out.Env, e)
		}
	}
	return out
}

func trimStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, s := range all {
		kept := corev1.ContainerStatus{Name: s.Name, Ready: s.Ready, RestartCount: s.RestartCount}
		if s.State.Terminated != nil {
			kept.State.Terminated = &corev1.ContainerStateTerminated{}
		}
		if s.Name == discoveryContainer {
			kept.ContainerID = s.ContainerID
		}
		out = append(out, kept)
	}
	return out
}

// trimRule keeps of an Istio, Gateway API or MCS object what tells its effect and its writers: not its status, not what
// kubectl noted for itself, and of managedFields only who owns which field.
func trimRule(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := make(map[string]any, len(u.Object))
	for k, v := range u.Object {
		if k != "status" && k != "metadata" {
			out[k] = v
		}
	}
	meta := map[string]any{}
	from, _ := u.Object["metadata"].(map[string]any)
	for _, k := range []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "labels"} {
		if v, ok := from[k]; ok {
			meta[k] = v
		}
	}
	if annotations := without(from["annotations"], corev1.LastAppliedConfigAnnotation); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	if managers := trimManagers(from["managedFields"]); len(managers) > 0 {
		meta["managedFields"] = managers
	}
	out["metadata"] = meta
	return &unstructured.Unstructured{Object: out}
}

func without(object any, key string) map[string]any {
	all, _ := object.(map[string]any)
	out := make(map[string]any, len(all))
	for k, v := range all {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func trimManagers(entries any) []any {
	list, _ := entries.([]any)
	var out []any
	for _, e := range list {
		from, ok := e.(map[string]any)
		if !ok || from["subresource"] == "status" {
			continue
		}
		entry := map[string]any{}
		for _, k := range []string{"manager", "operation", "time", "subresource", "fieldsV1"} {
			if v, ok := from[k]; ok {
				entry[k] = v
			}
		}
		out = append(out, entry)
	}
	return out
}
