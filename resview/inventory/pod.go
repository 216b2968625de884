// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/resview/pb"
)

// Labels of the fence on a pod. istiod takes a pod with the first one out of the mesh's endpoints, whatever its value;
// the second one says which generation of the fence put it there.
const (
	labelFence           = "istio.io/draining"
	labelFenceGeneration = "weir.io/fence"
)

// labelAmbient says that a namespace or a pod takes part in the mesh without a sidecar.
const (
	labelAmbient = "istio.io/dataplane-mode"
	ambient      = "ambient"
)

// podFacts says of a pod what the hub needs to know.
func podFacts(p *corev1.Pod, workload string) *pb.Pod {
	_, fenced := p.Labels[labelFence]
	proxy, _ := proxyOf(p)
	out := &pb.Pod{
		Name:            p.Name,
		Uid:             string(p.UID),
		Ip:              p.Status.PodIP,
		Ready:           isReady(p),
		Fenced:          fenced,
		Terminating:     p.DeletionTimestamp != nil,
		Meshed:          proxy != nil,
		Workload:        workload,
		ResourceVersion: p.ResourceVersion,
	}
	if n, err := strconv.ParseInt(p.Labels[labelFenceGeneration], 10, 64); err == nil && n > 0 {
		out.FenceGeneration = n
	}
	return out
}

// isMarked says whether weir has put its fence on a pod, of whatever generation: the other label may be anybody's.
func isMarked(p *corev1.Pod) bool {
	_, marked := p.Labels[labelFenceGeneration]
	return marked
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// isDone says whether all containers of a pod have ended for good, so that nothing of it can send or receive.
func isDone(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return true
	}
	if p.DeletionTimestamp == nil || len(p.Status.ContainerStatuses) < len(p.Spec.Containers) {
		return false
	}
	for _, all := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range all {
			if all[i].State.Terminated == nil {
				return false
			}
		}
	}
	return true
}

// proxyOf returns the container with the pod's proxy and what proxy it is; nil and census.KindNone for none.
func proxyOf(p *corev1.Pod) (*corev1.Container, census.Kind) {
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == proxyContainer {
			return c, proxyKind(c)
		}
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.Name == proxyContainer && isSidecarContainer(c) {
			return c, proxyKind(c)
		}
	}
	return nil, census.KindNone
}

// Arguments by which a proxy is told what it is.
const (
	argProxy    = "proxy"
	argRouter   = "router"
	argWaypoint = "waypoint"
)

// proxyKind reads what a proxy is from its arguments. A waypoint stands in nobody's pod, so it counts as a gateway.
func proxyKind(c *corev1.Container) census.Kind {
	if runs(c, argRouter) || runs(c, argWaypoint) {
		return census.KindGateway
	}
	return census.KindSidecar
}

func runs(c *corev1.Container, kind string) bool {
	i := slices.Index(c.Args, argProxy)
	return i >= 0 && i+1 < len(c.Args) && c.Args[i+1] == kind
}

// isRouter says whether a pod is a gateway for what comes into the mesh or leaves it.
func isRouter(p *corev1.Pod) bool {
	c, _ := proxyOf(p)
	return c != nil && runs(c, argRouter)
}

// containerStatus finds the status of a container, a sidecar container's too; an empty one where there is none.
func containerStatus(p *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, all := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return &corev1.ContainerStatus{}
}

// env returns the value of a variable of a container; empty where it is not set.
func env(c *corev1.Container, name string) string {
	if c == nil {
		return ""
	}
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// selects says whether a selector chooses an object with the labels. An empty one chooses nothing, as with a Service.
func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	return len(selector) > 0
}
