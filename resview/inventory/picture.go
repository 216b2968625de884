// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/pb"
)

// picture is what was made from the member at one revision. It does not change.
type picture struct {
	revision uint64
	services map[types.NamespacedName]*pb.ServiceFacts
	member   *pb.MemberFacts
	problems []Problem
	snapshot prover.Snapshot
}

// picture returns the newest picture, making it if need be, and what keeps a newer one from being made.
func (n *Inventory) picture() (p *picture, waiting []string) {
	n.building.Lock()
	defer n.building.Unlock()
	if waiting := n.waiting(); len(waiting) > 0 {
		return n.last, waiting
	}
	n.mu.Lock()
	revision, rules := n.revision, n.rules
	n.mu.Unlock()
	if n.last != nil && n.last.revision == revision {
		return n.last, nil
	}
	begun := time.Now()
	o, whole := n.gather()
	if !whole { // A kind came between the two looks.
		return n.last, n.waiting()
	}
	x := newIndex(o)
	if n.book == nil || n.bookOf != rules || !n.book.fits(x) {
		n.book, n.bookOf = newRuleBook(x), rules
	}
	n.last = newPicture(x, n.book, revision)
	n.mu.Lock()
	n.cost = time.Since(begun)
	n.mu.Unlock()
	return n.last, nil
}

func newPicture(x *index, book *ruleBook, revision uint64) *picture {
	p := &picture{
		revision: revision,
		services: map[types.NamespacedName]*pb.ServiceFacts{},
		member:   x.member(book),
		problems: x.problems(),
		snapshot: x.snapshot(),
	}
	for _, s := range x.services {
		switch {
		case isGlobal(s), isStandIn(s):
			rules, _ := book.choose(s.Namespace, s.Name)
			p.services[nameOf(s)] = x.service(s, rules)
		case len(x.behind[nameOf(s)]) > 0: // the hub has a fence to take off there
			p.services[nameOf(s)] = x.service(s, nil)
		}
	}
	book.forget(p.services)
	return p
}

// gather lists all that is known. It returns false if that is not the whole member.
func (n *Inventory) gather() (objects, bool) {
	n.mu.Lock()
	now := n.settings
	n.mu.Unlock()
	o := objects{
		services:       listOf[*corev1.Service](n.services),
		pods:           listOf[*corev1.Pod](n.pods),
		namespaces:     listOf[*corev1.Namespace](n.namespaces),
		replicaSets:    listOf[*appsv1.ReplicaSet](n.replicaSets),
		deployments:    listOf[*appsv1.Deployment](n.deployments),
		statefulSets:   listOf[*appsv1.StatefulSet](n.statefulSets),
		daemonSets:     listOf[*appsv1.DaemonSet](n.daemonSets),
		budgets:        listOf[*policyv1.PodDisruptionBudget](n.budgets),
		istioNamespace: n.config.IstioNamespace,
		rootNamespace:  n.config.RootNamespace,
		settings:       now,
	}
	whole := n.custom.list(&o)
	slices.SortFunc(o.rules, byName)
	return o, whole
}
