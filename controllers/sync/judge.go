// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
)

// wish is what one member shall hold of one object, and what of it weir leaves to the member.
type wish struct {
	of       copied
	object   *unstructured.Unstructured // nil: nothing shall stand there
	retained []v1alpha1.FieldPath
	// scaled names what owns the replicas in the member; empty: weir does.
	scaled string
}

// statement is a wish made ready to be written on top of what stands.
type statement struct {
	object *unstructured.Unstructured
	hash   string // of what weir states, without what it leaves to the member
}

// stated makes a wish ready. What the member keeps is stated as it stands there: a field that weir stated once and states no
// longer would be taken away.
func stated(w *wish, live *unstructured.Unstructured) (statement, error) {
	left := w.retained
	if w.scaled != "" {
		left = append(slices.Clip(left), v1alpha1.ReplicasPath)
	}
	var own, whole any = w.object.Object, w.object.Object
	for _, path := range left {
		way := steps(path)
		own = put(own, way, nil, false)
		if live != nil {
			value, there := at(live.Object, way)
			whole = put(whole, way, value, there)
		}
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return statement{}, fmt.Errorf("encode %s %s/%s: %w", w.of.kind, w.object.GetNamespace(), w.object.GetName(), err)
	}
	sum := sha256.Sum256(raw)
	out, _ := whole.(map[string]any)
	return statement{&unstructured.Unstructured{Object: out}, hex.EncodeToString(sum[:16])}, nil
}

// stands says whether a copy is as stated. generation is that of the copy after the last write: while it is the same, nobody
// has changed the copy's spec since, whatever an API server has made of what was written.
func stands(of copied, s statement, live *unstructured.Unstructured, generation int64) bool {
	if live.GetAnnotations()[member.AnnotationApplied] != s.hash {
		return false
	}
	if !member.Within(s.object.Object["metadata"], live.Object["metadata"]) {
		return false
	}
	if g := live.GetGeneration(); g != 0 && g == generation {
		return true
	}
	return member.Within(canonical(of, s.object), canonical(of, live))
}

// canonical is the spec of an object as its type writes it, so that 1000m and 1 of a core compare equal. What the type does
// not know is not compared.
func canonical(of copied, u *unstructured.Unstructured) any {
	typed := of.typed()
	if err := recode(u.Object, typed); err != nil {
		return u.Object["spec"]
	}
	var out map[string]any
	if err := recode(typed, &out); err != nil {
		return u.Object["spec"]
	}
	return out["spec"]
}

// lowers says whether writing a wish on top of what stands takes replicas away.
func lowers(w *wish, live *unstructured.Unstructured) bool {
	return w.of.kind == deployments.kind && live != nil && w.scaled == "" && (w.object == nil || replicasOf(w.object) < replicasOf(live))
}

// empty says whether a copy has no replicas, and no pods of it are left.
func empty(of copied, live *unstructured.Unstructured) bool {
	if of.kind != deployments.kind {
		return true
	}
	running, _, _ := unstructured.NestedInt64(live.Object, "status", "replicas")
	return replicasOf(live) == 0 && running == 0
}
