// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package concern

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-io/weir/mesh/prover/census"
)

// Class names a scope class. Two proxies of one class get alike configuration
// from replicas that hold alike rules.
type Class string

// generated are labels that differ from pod to pod or from rollout to rollout
// and that no sensible selector names. Without this, each pod of a StatefulSet
// would be a class of its own.
var generated = []string{
	"pod-template-hash",
	"controller-revision-hash",
	"pod-template-generation",
	"statefulset.kubernetes.io/pod-name",
	"apps.kubernetes.io/pod-index",
	"batch.kubernetes.io/job-completion-index",
	"batch.kubernetes.io/controller-uid",
	"controller-uid",
}

// ClassOf returns the class of a pod's proxy. Scope stands for the objects that
// narrow what proxies of the namespace see; it changes when any of them does.
func ClassOf(p census.Pod, scope string) Class {
	h := sha256.New()
	write := func(s string) {
		// The length before each part keeps two lists of parts apart.
		h.Write([]byte(strconv.Itoa(len(s)) + ":" + s))
	}
	write(p.Namespace)
	write(string(p.Kind))
	write(scope)
	for _, k := range slices.Sorted(maps.Keys(p.Labels)) {
		if !slices.Contains(generated, k) {
			write(k)
			write(p.Labels[k])
		}
	}
	return Class("class/" + hex.EncodeToString(h.Sum(nil)[:16]))
}

// ClassOfUnknown returns the class of a proxy whose pod is not known here: one
// that it shares with no other.
func ClassOfUnknown(proxy string) Class { return Class("proxy/" + proxy) }
