// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func plainService(s *corev1.Service) { s.Annotations = nil }

func chosenNames(x *index, namespace, name string) []string {
	var out []string
	for _, p := range x.behind[types.NamespacedName{Namespace: namespace, Name: name}] {
		out = append(out, p.Name)
	}
	return out
}

func TestAServiceThatIsGlobalNoLongerIsToldOfWhileItsPodsBearAFence(t *testing.T) {
	marked := labelled(labelFenceGeneration, "0")
	users := labelled(labelFence, "true") // somebody else's, without weir's mark
	both := globalService("shop", "both", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "cart"} })
	cases := map[string]struct {
		services []*corev1.Service
		pods     []*corev1.Pod
		want     int // pods that are told of under shop/cart; 0: it is not told of
	}{
		"fenced":                      {[]*corev1.Service{globalService("shop", "cart", plainService)}, []*corev1.Pod{appPod("shop", "cart", "a", marked), appPod("shop", "cart", "b")}, 1},
		"not fenced":                  {[]*corev1.Service{globalService("shop", "cart", plainService)}, []*corev1.Pod{appPod("shop", "cart", "a")}, 0},
		"fenced by somebody else":     {[]*corev1.Service{globalService("shop", "cart", plainService)}, []*corev1.Pod{appPod("shop", "cart", "a", users)}, 0},
		"behind a global one as well": {[]*corev1.Service{globalService("shop", "cart", plainService), both}, []*corev1.Pod{appPod("shop", "cart", "a", marked)}, 0},
		"pods of another":             {[]*corev1.Service{globalService("shop", "cart", plainService)}, []*corev1.Pod{appPod("shop", "pay", "a", marked)}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x := newIndex(objects{services: c.services, pods: c.pods})
			p := newPicture(x, newRuleBook(x), 1)
			got := p.services[types.NamespacedName{Namespace: "shop", Name: "cart"}]
			if (got != nil) != (c.want > 0) || len(got.GetPods()) != c.want {
				t.Errorf("told %v, behind it %v", got, chosenNames(x, "shop", "cart"))
			}
		})
	}
}

func TestAServiceThatStandsInIsToldOfAndOnlyIfWeirMadeIt(t *testing.T) {
	standIn := func(s *corev1.Service) {
		s.Annotations = map[string]string{"weir.io/stand-in": "true"}
		s.Labels = map[string]string{"app.kubernetes.io/managed-by": "weir"}
		s.Spec.Selector = nil
	}
	byHand := func(s *corev1.Service) { standIn(s); s.Labels = nil }
	x := newIndex(objects{services: []*corev1.Service{globalService("shop", "cart", standIn), globalService("shop", "pay", byHand)}})
	p := newPicture(x, newRuleBook(x), 1)
	if got := p.services[types.NamespacedName{Namespace: "shop", Name: "cart"}]; got.GetClusterIp() != "10.96.0.10" {
		t.Errorf("got %v", got)
	}
	if got := p.services[types.NamespacedName{Namespace: "shop", Name: "pay"}]; got != nil {
		t.Errorf("somebody's own is told of: %v", got)
	}
	if problems := x.problems(); len(problems) != 1 || problems[0].Name != "pay" {
		t.Errorf("problems %v", problems)
	}
}
