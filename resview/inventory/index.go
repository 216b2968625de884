// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// objects is the member at one moment, as the informers hold it, in any order. Nothing in it may be changed.
type objects struct {
	services     []*corev1.Service
	pods         []*corev1.Pod
	namespaces   []*corev1.Namespace
	replicaSets  []*appsv1.ReplicaSet
	deployments  []*appsv1.Deployment
	statefulSets []*appsv1.StatefulSet
	daemonSets   []*appsv1.DaemonSet
	budgets      []*policyv1.PodDisruptionBudget
	// rules are VirtualServices, DestinationRules, Sidecars and routes of the Gateway API.
	rules []*unstructured.Unstructured
	// gateways are Istio's.
	gateways []*unstructured.Unstructured
	// exports are the ServiceExports.
	exports []*unstructured.Unstructured

	// istioNamespace is where istiod runs; rootNamespace is the mesh's root of configuration where the mesh's own settings
	// do not tell.
	istioNamespace, rootNamespace string
	settings                      settings
}

// index is objects put in order for look-up. It is what all facts are made from.
type index struct {
	objects

	services  []*corev1.Service
	pods      map[string][]*corev1.Pod // by namespace, each sorted by name
	ambient   map[string]bool
	exports   map[types.NamespacedName]bool
	workloads map[string][]workload // by namespace
	budgets   map[string][]budget   // by namespace, sorted by name
	// behind holds, for each global Service, the pods that its selector chooses and that have not ended, sorted by name.
	// Pods that are not ready or are going are among them: they are no endpoints, but a fence must know them. For a Service
	// that is global no longer it holds the pods on which weir's fence was left, and which are behind no global one.
	behind map[types.NamespacedName][]*corev1.Pod
	// replicaSetOwner gives Kind/name of what stands above a ReplicaSet, by namespace/name.
	replicaSetOwner map[string]string
	istiods         []*corev1.Pod // those that have not ended
}

func newIndex(o objects) *index {
	x := &index{
		objects:         o,
		services:        slices.Clone(o.services),
		pods:            map[string][]*corev1.Pod{},
		ambient:         map[string]bool{},
		exports:         map[types.NamespacedName]bool{},
		workloads:       map[string][]workload{},
		budgets:         map[string][]budget{},
		replicaSetOwner: map[string]string{},
		behind:          map[types.NamespacedName][]*corev1.Pod{},
	}
	slices.SortFunc(x.services, byName)
	for _, p := range o.pods {
		x.pods[p.Namespace] = append(x.pods[p.Namespace], p)
	}
	for _, all := range x.pods {
		slices.SortFunc(all, byName)
	}
	for _, n := range o.namespaces {
		if n.Labels[labelAmbient] == ambient {
			x.ambient[n.Name] = true
		}
	}
	for _, e := range o.exports {
		x.exports[nameOf(e)] = true
	}
	for _, p := range x.pods[o.istioNamespace] {
		if p.Labels["app"] == "istiod" && !isDone(p) {
			x.istiods = append(x.istiods, p)
		}
	}
	x.indexWorkloads()
	x.indexServices()
	x.indexBudgets()
	return x
}

// pair is one label in one namespace.
type pair struct{ namespace, key, value string }

// indexServices finds the pods behind each global Service, and those with a fence that was left. It looks at each pod
// once, not once for each Service.
func (x *index) indexServices() {
	left := x.fencedNamespaces()
	with := map[pair][]*corev1.Pod{} // the pairs that selectors name
	for _, s := range x.services {
		if isGlobal(s) || left[s.Namespace] {
			for k, v := range s.Spec.Selector {
				with[pair{s.Namespace, k, v}] = nil
			}
		}
	}
	for namespace, all := range x.pods {
		for _, p := range all {
			if isDone(p) {
				continue
			}
			for k, v := range p.Labels {
				if have, named := with[pair{namespace, k, v}]; named {
					with[pair{namespace, k, v}] = append(have, p)
				}
			}
		}
	}
	for _, s := range x.services {
		if isGlobal(s) {
			x.behind[nameOf(s)] = chosen(s, with)
		}
	}
	x.indexLeft(left, with)
}

// indexLeft finds the pods with a fence that was left, behind Services of the namespaces given.
func (x *index) indexLeft(namespaces map[string]bool, with map[pair][]*corev1.Pod) {
	steered := map[*corev1.Pod]bool{}
	for _, pods := range x.behind {
		for _, p := range pods {
			steered[p] = true
		}
	}
	for _, s := range x.services {
		if isGlobal(s) || !namespaces[s.Namespace] {
			continue
		}
		pods := slices.DeleteFunc(slices.Clone(chosen(s, with)), func(p *corev1.Pod) bool { return steered[p] || !isMarked(p) })
		if len(pods) > 0 {
			x.behind[nameOf(s)] = pods
		}
	}
}

// fencedNamespaces are those in which weir has put its fence on a pod.
func (x *index) fencedNamespaces() map[string]bool {
	out := map[string]bool{}
	for namespace, all := range x.pods {
		if slices.ContainsFunc(all, isMarked) {
			out[namespace] = true
		}
	}
	return out
}

// chosen returns the pods that a Service's selector chooses, given those with each of its labels.
func chosen(s *corev1.Service, with map[pair][]*corev1.Pod) []*corev1.Pod {
	var fewest []*corev1.Pod
	first := true
	for k, v := range s.Spec.Selector {
		if some := with[pair{s.Namespace, k, v}]; first || len(some) < len(fewest) {
			fewest, first = some, false
		}
	}
	var out []*corev1.Pod
	for _, p := range fewest {
		if selects(s.Spec.Selector, p.Labels) {
			out = append(out, p)
		}
	}
	return out
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (x *index) indexWorkloads() {
	add := func(namespace string, w workload) { x.workloads[namespace] = append(x.workloads[namespace], w) }
	for _, d := range x.deployments {
		add(d.Namespace, workload{d.Spec.Template.Labels, deploymentFacts(d)})
	}
	for _, s := range x.statefulSets {
		add(s.Namespace, workload{s.Spec.Template.Labels, statefulSetFacts(s)})
	}
	for _, d := range x.daemonSets {
		add(d.Namespace, workload{d.Spec.Template.Labels, daemonSetFacts(d)})
	}
	for _, r := range x.replicaSets {
		if o := metav1.GetControllerOfNoCopy(r); o != nil {
			x.replicaSetOwner[r.Namespace+"/"+r.Name] = o.Kind + "/" + o.Name
			continue
		}
		add(r.Namespace, workload{r.Spec.Template.Labels, replicaSetFacts(r)})
	}
}

func byName[T metav1.Object](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// root returns the mesh's root of configuration.
func (x *index) root() string {
	return cmp.Or(x.settings.mesh.rootNamespace, x.rootNamespace, x.istioNamespace)
}
