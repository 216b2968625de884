// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/admission"
	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/binding"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/schedule"
	"github.com/weir-io/weir/controllers/status"
	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

// chain is a world with all four controllers, in which what one writes the next one reads.
type chain struct {
	*world

	nodes *view.View
	all   []func() error
	least int32 // replicas that are to be ready at any time
}

// fleet is the views of members: ten free cores in each.
type fleet struct{ nodes *view.View }

func (f fleet) View(cluster string) (stream.MemberView, bool) {
	return stream.MemberView{Cluster: cluster, View: f.nodes}, true
}

func newChain(t *testing.T, objects ...client.Object) *chain {
	t.Helper()
	c := &chain{world: newWorld(t, objects...)}
	c.WithWatch = fleettest.Owners(t, c.WithWatch)
	c.d.Client, c.d.Live = c.WithWatch, c.WithWatch
	book := view.NewBook(1)
	node := view.Node{Name: "n1", Allocatable: view.MakeAmounts(map[string]int64{"cpu": 10000, "pods": 100})}
	node.Conditions = node.Conditions.With(view.Ready, view.True)
	if err := book.Add(&node); err != nil {
		t.Fatal(err)
	}
	book.Seal(1)
	c.nodes = book.View()
	c.boot()
	return c
}

// boot begins the hub anew: nothing that a controller remembered is left.
func (c *chain) boot() {
	c.again()
	request := ctrl.Request{NamespacedName: key}
	c.all = nil
	for _, r := range []interface {
		Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error)
	}{
		&binding.Reconciler{Client: c},
		&schedule.Reconciler{Client: c, Views: fleet{c.nodes}, Recorder: c.told, Now: c.d.Now},
		c.d,
		&status.Reconciler{Client: c, Recorder: c.told},
	} {
		c.all = append(c.all, func() error {
			_, err := r.Reconcile(c.Context(), request)
			return err
		})
	}
}

// turn lets every controller look once, and each pod that is asked for run after that.
func (c *chain) turn(ready bool) string {
	c.Helper()
	for _, look := range c.all {
		if err := look(); err != nil {
			c.Fatal(err)
		}
	}
	var words []string
	var serving int32
	for _, name := range []string{"c1", "c2"} {
		d := c.deployment(name)
		if d == nil {
			continue
		}
		words = append(words, fmt.Sprintf("%s:%d", name, *d.Spec.Replicas))
		serving += min(d.Status.ReadyReplicas, *d.Spec.Replicas)
		if ready {
			c.run(name)
		} else {
			before := d.Status.ReadyReplicas
			c.run(name, func(s *appsv1.DeploymentStatus) { s.ReadyReplicas = min(before, s.Replicas) })
		}
	}
	if serving < c.least {
		c.Fatalf("%d replicas are ready of %d: %v", serving, c.least, words)
	}
	return strings.Join(words, " ")
}

// settle turns until members hold what is wanted, and returns everything that they held on the way.
func (c *chain) settle(want string) []string {
	c.Helper()
	var held []string
	for range 20 {
		now := c.turn(true)
		if len(held) == 0 || held[len(held)-1] != now {
			held = append(held, now)
		}
		d := &v1alpha1.FederatedDeployment{}
		if err := c.Get(c.Context(), key, d); err != nil {
			c.Fatal(err)
		}
		if now == want && meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionReady) {
			return held
		}
	}
	c.Fatalf("want %s, held %v; %+v", want, held, c.binding().Status)
	return nil
}

func TestAWorkloadIsPlacedDrainedGivenBackScaledAndRemoved(t *testing.T) {
	text := strings.Replace(web, "replicas: 5", "replicas: 6", 1)
	c := newChain(t, parsed[v1alpha1.FederatedDeployment](t, text))
	c.settle("c1:3 c2:3")

	drain := c.drain("c1")
	for range 4 {
		if now := c.turn(false); !strings.HasPrefix(now, "c1:3") {
			t.Fatalf("replicas went down before others were ready: %s", now)
		}
	}
	held := c.settle("c1:0 c2:6")
	if held[0] != "c1:3 c2:6" {
		t.Errorf("held %v", held)
	}

	if err := c.Delete(t.Context(), drain); err != nil {
		t.Fatal(err)
	}
	if held := c.settle("c1:3 c2:3"); len(held) < 2 || held[0] != "c1:3 c2:6" {
		t.Errorf("held %v", held)
	}
	c.changeWorkload(func(d *v1alpha1.FederatedDeployment) { n := int32(10); d.Spec.Template.Spec.Replicas = &n })
	if held := c.settle("c1:5 c2:5"); len(held) > 1 {
		t.Errorf("held %v", held)
	}

	d := &v1alpha1.FederatedDeployment{}
	if err := c.Get(t.Context(), key, d); err != nil {
		t.Fatal(err)
	}
	if d.Status.Replicas != 10 || d.Status.ReadyReplicas != 10 || len(d.Status.Clusters) != 2 {
		t.Errorf("%+v", d.Status)
	}
	c.admitted(map[string]client.Object{"FederatedDeployment": d, "ResourceBinding": c.binding(), "Work": c.work("c1", "Deployment")})
	if err := c.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.turn(true)
	}
	if c.deployment("c1") != nil || c.deployment("c2") != nil {
		t.Error("copies are left")
	}
}

func (c *chain) drain(cluster string) *v1alpha1.ClusterDrain {
	c.Helper()
	d := &v1alpha1.ClusterDrain{Spec: v1alpha1.ClusterDrainSpec{ClusterName: cluster}}
	d.Name = cluster
	if err := c.Create(c.Context(), d); err != nil {
		c.Fatal(err)
	}
	d.Status.Goal = v1alpha1.GoalDrain
	if err := c.Status().Update(c.Context(), d); err != nil {
		c.Fatal(err)
	}
	return d
}

// The hub ends after each write of any controller in turn, and begins anew.
func TestADrainWhoseHubEndsAtEveryStepLosesNoReplica(t *testing.T) {
	c := newChain(t, parsed[v1alpha1.FederatedDeployment](t, strings.Replace(web, "replicas: 5", "replicas: 6", 1)))
	c.settle("c1:3 c2:3")
	c.least = 6
	drain := c.drain("c1")
	for _, want := range []string{"c1:0 c2:6", "c1:3 c2:3"} {
		done := false
		for range 30 {
			for i := range c.all {
				if err := c.all[i](); err != nil {
					t.Fatal(err)
				}
				c.boot()
			}
			if done = c.turn(true) == want; done {
				break
			}
		}
		if !done {
			t.Fatalf("want %s: %+v", want, c.binding().Spec)
		}
		if err := c.Delete(t.Context(), drain); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
}

func TestADrainAbortedWithHalfTheReplicasMovedGivesThemBack(t *testing.T) {
	c := newChain(t, parsed[v1alpha1.FederatedDeployment](t, strings.Replace(web, "replicas: 5", "replicas: 6", 1)))
	c.settle("c1:3 c2:3")
	drain := c.drain("c1")
	c.turn(false)
	c.run("c2", func(s *appsv1.DeploymentStatus) { s.ReadyReplicas = 5 })
	c.turn(false)
	if now := c.turn(false); now != "c1:1 c2:6" {
		t.Fatalf("not half of them have moved: %s", now)
	}
	c.run("c2", func(s *appsv1.DeploymentStatus) { s.ReadyReplicas = 5 })
	c.least = 6
	if err := c.Delete(t.Context(), drain); err != nil {
		t.Fatal(err)
	}
	c.settle("c1:3 c2:3")
}

// admitted fails where an API server would refuse an object, by its schema or a rule of it.
func (c *chain) admitted(objects map[string]client.Object) {
	c.Helper()
	checkers, err := admission.Checkers()
	if err != nil {
		c.Fatal(err)
	}
	for kind, o := range objects {
		var fields map[string]any
		if err := recode(o, &fields); err != nil {
			c.Fatal(err)
		}
		if fields["kind"] == nil {
			fields["apiVersion"], fields["kind"] = v1alpha1.GroupVersion.String(), kind
		}
		if errs := checkers[kind].Create(c.Context(), fields); len(errs) > 0 {
			c.Errorf("%s: %v", kind, errs)
		}
	}
}

// Without a global service the limits are lowered when as many as were wanted are ready elsewhere. The hub ends after each
// write of any controller in turn.
func TestADrainOfAnAutoscaledCopyWhoseHubEndsAtEveryStepGivesAllBack(t *testing.T) {
	c := newChain(t, parsed[v1alpha1.FederatedDeployment](t, strings.Replace(web, "replicas: 5", "replicas: 6", 1)))
	c.settle("c1:3 c2:3")
	c.scale("c1", new(int32(2)), 5)
	before := ownedBy(c.hpa("c1"))
	c.edit("c1", func(d *appsv1.Deployment) { four := int32(4); d.Spec.Replicas = &four })
	if now := c.turn(true); now != "c1:4 c2:3" {
		t.Fatalf("what the autoscaler asks for is not left: %s", now)
	}
	c.least = 6
	drain := c.drain("c1")
	for _, want := range []struct{ held, limits string }{{"c1:0 c2:6", "1 to 1"}, {"c1:3 c2:3", "2 to 5"}} {
		done := false
		for range 30 {
			for i := range c.all {
				if err := c.all[i](); err != nil {
					t.Fatal(err)
				}
				c.act("c1")
				c.boot()
			}
			if done = c.turn(true) == want.held && c.limitsOf("c1") == want.limits; done {
				break
			}
		}
		if !done {
			t.Fatalf("want %+v: limits are %s, %+v", want, c.limitsOf("c1"), c.binding().Spec)
		}
		c.admitted(map[string]client.Object{"ResourceBinding": c.binding()})
		if err := c.Delete(t.Context(), drain); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(before, ownedBy(c.hpa("c1"))); d != "" {
		t.Error(d)
	}
}
