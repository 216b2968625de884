// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// memberNamespacePrefix starts the names of the namespaces that hold Works.
const memberNamespacePrefix = "weir-member-"

// MemberNamespace is the namespace on the hub that holds the Works of a member: weir-member-NAME. Of a name that is too
// long for that, or has dots, it is the start of the name and a hash of the whole, so that no two members share one.
func MemberNamespace(cluster string) string {
	name := memberNamespacePrefix + cluster
	if len(name) <= validation.DNS1123LabelMaxLength && !strings.Contains(name, ".") {
		return name
	}
	sum := sha256.Sum256([]byte(cluster))
	tail := "-" + hex.EncodeToString(sum[:5])
	name = strings.ReplaceAll(name, ".", "-")
	return name[:min(len(name), validation.DNS1123LabelMaxLength-len(tail))] + tail
}

// Labels of a Work: the federated object that it is of.
const (
	// LabelWorkKind is the kind of the objects that it holds, in small letters: deployment or service.
	LabelWorkKind = "weir.io/work-kind"
	// LabelWorkNamespace and LabelWorkName are those of the federated object.
	LabelWorkNamespace = "weir.io/work-namespace"
	LabelWorkName      = "weir.io/work-name"
)

// AnnotationWorkCluster is the member that a Work is for: a name may be longer than a label holds.
const AnnotationWorkCluster = "weir.io/work-cluster"

// WorkName is the name of the Work of a federated object, in the namespace of every member: KIND.NAMESPACE.NAME. It is
// unique, since neither a kind nor a namespace has dots.
func WorkName(kind, namespace, name string) string {
	return strings.ToLower(kind) + "." + namespace + "." + name
}

// WorkLabels are the labels of the Works of a federated object.
func WorkLabels(kind, namespace, name string) map[string]string {
	return map[string]string{LabelWorkKind: strings.ToLower(kind), LabelWorkNamespace: namespace, LabelWorkName: name}
}
