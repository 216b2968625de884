// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

// workload is what runs pods, as far as this package knows it.
type workload struct {
	labels map[string]string // of its pod template
	facts  *pb.WorkloadFacts
}

// name is how pods refer to their workload.
func (w workload) name() string { return w.facts.GetKind() + "/" + w.facts.GetName() }

// owner returns Kind/name of the topmost owner that runs a pod: the Deployment rather than its ReplicaSet. Empty: nothing
// would bring the pod back.
func (x *index) owner(p *corev1.Pod) string {
	o := metav1.GetControllerOfNoCopy(p)
	if o == nil {
		return ""
	}
	if o.Kind == "ReplicaSet" {
		if top, ok := x.replicaSetOwner[p.Namespace+"/"+o.Name]; ok {
			return top
		}
	}
	return o.Kind + "/" + o.Name
}

func deploymentFacts(d *appsv1.Deployment) *pb.WorkloadFacts {
	want, s := replicas(d.Spec.Replicas), d.Status
	return &pb.WorkloadFacts{
		Kind: "Deployment", Name: d.Name, Replicas: want, Ready: s.ReadyReplicas,
		RolloutInProgress: d.Generation > s.ObservedGeneration || s.UpdatedReplicas < want || s.Replicas > s.UpdatedReplicas,
		Binding:           line(d.Annotations[v1alpha1.AnnotationBinding], maxBinding),
	}
}

func replicaSetFacts(r *appsv1.ReplicaSet) *pb.WorkloadFacts {
	return &pb.WorkloadFacts{
		Kind: "ReplicaSet", Name: r.Name, Replicas: replicas(r.Spec.Replicas), Ready: r.Status.ReadyReplicas,
		RolloutInProgress: r.Generation > r.Status.ObservedGeneration,
	}
}

// statefulSetFacts: a set that updates on deletion only, or up to a partition, rests in two revisions.
func statefulSetFacts(s *appsv1.StatefulSet) *pb.WorkloadFacts {
	want, st := replicas(s.Spec.Replicas), s.Status
	update := want
	if roll := s.Spec.UpdateStrategy.RollingUpdate; roll != nil && roll.Partition != nil {
		update = max(want-*roll.Partition, 0)
	}
	rolling := st.UpdateRevision != st.CurrentRevision && s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
	return &pb.WorkloadFacts{
		Kind: "StatefulSet", Name: s.Name, Replicas: want, Ready: st.ReadyReplicas,
		RolloutInProgress: s.Generation > st.ObservedGeneration || rolling && st.UpdatedReplicas < update,
	}
}

func daemonSetFacts(d *appsv1.DaemonSet) *pb.WorkloadFacts {
	s := d.Status
	rolling := d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType && s.UpdatedNumberScheduled < s.DesiredNumberScheduled
	return &pb.WorkloadFacts{
		Kind: "DaemonSet", Name: d.Name, Replicas: s.DesiredNumberScheduled, Ready: s.NumberReady,
		RolloutInProgress: d.Generation > s.ObservedGeneration || rolling,
	}
}

// replicas reads an optional count as the API server does.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
