// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched/adapter"
)

// A pass that decides about some workloads reads the views once more before it writes. What it sees then of the fleet it has
// asked no other workload about.
func TestADrainThatBeginsInThePassOfAnotherWorkloadMovesAllOfThem(t *testing.T) {
	w := newWorld(t, 3, web)
	w.pass()
	w.run()
	w.pass()
	w.add("api")
	asked := w.views.asked
	w.views.onAsk = func(n int) {
		if n == asked+3 { // the last of the views for the decision about the new workload: the next look is the one before the commit.
			w.drain("c1")
		}
	}
	if _, err := w.r.Reconcile(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	w.want(w.pass(), "c2:3 c3:3", "c1:2 c2:3 c3:3", v1alpha1.TriggerCreated, v1alpha1.TriggerDrain)
}

// add adds a workload like web, with its wish.
func (w *world) add(name string) {
	w.Helper()
	d := parsed[v1alpha1.FederatedDeployment](w.T, strings.ReplaceAll(web, "name: web", "name: "+name))
	wish, errs := adapter.Wish(d, nil)
	if len(errs) > 0 {
		w.Fatal(errs)
	}
	for _, o := range []client.Object{d, &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-" + name}, Spec: wish}} {
		if err := w.Create(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
}
