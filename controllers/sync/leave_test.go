// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/unjoin"
)

// noTokens stands for join tokens of which there are none.
type noTokens struct{}

func (noTokens) Revoke(context.Context, string, string) (int, error) { return 0, nil }

// A drained member leaves while all controllers are at work: its copies go, nothing is made anew there, and what the others
// hold stays as it is.
func TestAMemberThatLeavesLosesItsCopiesAndGetsNoneAnew(t *testing.T) {
	c := newChain(t, parsed[v1alpha1.FederatedDeployment](t, strings.Replace(web, "replicas: 5", "replicas: 6", 1)), parsed[v1alpha1.FederatedService](t, webService))
	c.settle("c1:3 c2:3")
	c.lookService()
	c.drain("c1")
	c.settle("c1:0 c2:6")

	var leaver v1alpha1.Cluster
	if err := c.Get(t.Context(), types.NamespacedName{Name: "c1"}, &leaver); err != nil {
		t.Fatal(err)
	}
	leaver.Finalizers = append(leaver.Finalizers, v1alpha1.FinalizerUnjoin)
	if err := c.Update(t.Context(), &leaver); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), &leaver); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	u := &unjoin.Reconciler{Client: c, Door: c.d.Door, Recorder: c.told, Now: func() time.Time { return at }, Namespace: "weir-system", Tokens: noTokens{}}
	c.least = 6
	gone := false
	for range 30 {
		at = at.Add(4 * time.Second)
		if _, err := u.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "c1"}}); err != nil {
			t.Fatal(err)
		}
		c.turn(true)
		c.lookService()
		if gone = apierrors.IsNotFound(c.Get(t.Context(), types.NamespacedName{Name: "c1"}, &leaver)); gone {
			break
		}
	}
	if !gone {
		t.Fatalf("it is still there: %+v", leaver.Status.Leaving)
	}
	for range 3 {
		c.turn(true)
		c.lookService()
	}
	if c.deployment("c1") != nil || c.service("c1") != nil || c.work("c1", "Deployment") != nil || c.work("c1", "Service") != nil {
		t.Error("something is left in the member that is gone, or was made anew there")
	}
	if d := c.deployment("c2"); d == nil || *d.Spec.Replicas != 6 || c.service("c2") == nil {
		t.Errorf("what stays: %+v", d)
	}
}
