// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// largeMember has 2,000 global Services in 200 namespaces, 20,000 pods behind them, and two rules for every tenth.
func largeMember(b *testing.B) objects {
	b.Helper()
	o := objects{istioNamespace: "istio-system", pods: []*corev1.Pod{istiodPod("istiod-1")}}
	for i := range 200 {
		ns := fmt.Sprintf("team-%d", i)
		o.namespaces = append(o.namespaces, namespace(ns, nil))
		for j := range 10 {
			app := fmt.Sprintf("app-%d", j)
			o.services = append(o.services, globalService(ns, app))
			o.deployments = append(o.deployments, deployment(ns, app, 10))
			o.replicaSets = append(o.replicaSets, replicaSetOf(ns, app))
			for k := range 10 {
				o.pods = append(o.pods, kept(b, appPod(ns, app, fmt.Sprintf("%s-%d", app, k))))
			}
		}
		o.rules = append(o.rules,
			object(b, fmt.Sprintf("{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {namespace: %s, name: own}, spec: {hosts: [app-0]}}", ns)),
			object(b, fmt.Sprintf("{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {namespace: %s, name: own}, spec: {host: app-0}}", ns)))
	}
	return o
}

// BenchmarkPods is what a change of a pod costs.
func BenchmarkPods(b *testing.B) {
	o := largeMember(b)
	book := newRuleBook(newIndex(o))
	newPicture(newIndex(o), book, 1)
	for b.Loop() {
		newPicture(newIndex(o), book, 1)
	}
}

// BenchmarkRules is what a change of a rule costs.
func BenchmarkRules(b *testing.B) {
	o := largeMember(b)
	for b.Loop() {
		x := newIndex(o)
		newPicture(x, newRuleBook(x), 1)
	}
}
