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
