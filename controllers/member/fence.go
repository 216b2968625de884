// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

// Labels of the fence. istiod takes a pod with the first one out of the mesh's endpoints while it still serves; the
// second one changes with each generation, so that istiod has something to push when a fence must be proven anew, and
// marks the fence as weir's.
const (
	LabelFence           = "istio.io/draining"
	LabelFenceGeneration = "weir.io/fence"
)

// AnnotationDeletionCost tells a ReplicaSet which of its pods to remove first, and FencedCost is what weir writes there.
const (
	AnnotationDeletionCost = "controller.kubernetes.io/pod-deletion-cost"
	FencedCost             = "-1000"
)

// FenceName is the name of the two objects in a member by which new pods of a service come up fenced.
func FenceName(namespace, service string) string {
	return "weir-fence." + namespace + "." + service
}
