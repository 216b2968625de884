// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// wish changes what is wanted of the workload.
func (w *world) wish(change func(*v1alpha1.ResourceBindingSpec)) {
	w.Helper()
	b := w.binding()
	part := b.Spec.DeepCopy()
	part.Clusters, part.Plan = nil, nil
	change(part)
	name := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	if _, err := hub.ApplySpec(w.Context(), w, "weir-binding", name, b.ResourceVersion, part); err != nil {
		w.Fatal(err)
	}
}

func replicas(n int32) func(*v1alpha1.ResourceBindingSpec) {
	return func(s *v1alpha1.ResourceBindingSpec) { s.Replicas = n }
}

// weighted is a preference with the weight of one cluster; the others have 1.
func weighted(cluster string, weight v1alpha1.ClusterWeight) func(*v1alpha1.ResourceBindingSpec) {
	return func(s *v1alpha1.ResourceBindingSpec) {
		s.Preference = &v1alpha1.ReplicaPreference{Clusters: map[string]v1alpha1.ClusterPreference{cluster: {Weight: &weight}}}
	}
}

// conflict makes a pass whose first write meets somebody else's.
func (w *world) conflict() {
	w.Helper()
	met := false
	w.r.Client = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if !met {
				met = true
				return apierrors.NewConflict(schema.GroupResource{Resource: "resourcebindings"}, "deployment-web", nil)
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	if _, err := w.r.Reconcile(w.Context(), all); err != nil || !met {
		w.Fatalf("conflict met: %t; %v", met, err)
	}
	w.r.Client = w
}

// settle makes passes until members hold what was decided, and checks that.
func (w *world) settle(decision string) {
	w.Helper()
	for range 3 {
		w.pass()
		w.run()
	}
	b := w.pass()
	var triggers []v1alpha1.DecisionTrigger
	for i := range b.Status.History {
		triggers = append(triggers, b.Status.History[i].Trigger)
	}
	w.want(b, decision, decision, triggers...)
}

func (w *world) undrain(d *v1alpha1.ClusterDrain) {
	w.Helper()
	if err := w.Delete(w.Context(), d); err != nil {
		w.Fatal(err)
	}
}

// twelve is a hub of four members with twelve replicas, of which c1 was drained and everything has moved.
func twelve(t *testing.T) (*world, *v1alpha1.ClusterDrain) {
	t.Helper()
	w := newWorld(t, 4, strings.Replace(web, "replicas: 6", "replicas: 12", 1))
	w.settle("c1:3 c2:3 c3:3 c4:3")
	d := w.drain("c1")
	w.settle("c2:4 c3:4 c4:4")
	return w, d
}

func TestAPreferenceIsObeyedThoughAnotherReasonIsStillOwed(t *testing.T) {
	w := newWorld(t, 2, web)
	w.settle("c1:3 c2:3")
	w.wish(replicas(7))
	w.conflict()
	w.wish(weighted("c1", 5))
	w.settle("c1:6 c2:1")
}

func TestAShareIsGivenBackThoughAnotherReasonIsStillOwed(t *testing.T) {
	for name, owed := range map[string]func(*world){
		"a wish":  func(w *world) { w.wish(replicas(13)) },
		"a death": func(w *world) { w.wish(replicas(13)); w.health("c4", v1alpha1.HealthDead) },
	} {
		t.Run(name, func(t *testing.T) {
			w, drain := twelve(t)
			owed(w)
			w.conflict()
			w.undrain(drain)
			w.settle("c1:3 c2:3 c3:4 c4:3")
		})
	}
}

func TestAShareIsGivenBackWhateverElseTheWishSaysInThatPass(t *testing.T) {
	w, drain := twelve(t)
	w.wish(replicas(13))
	w.undrain(drain)
	w.settle("c1:3 c2:3 c3:4 c4:3")
}

func TestAShareIsGivenBackThoughPodsHaveWaitedTooLongInThatPass(t *testing.T) {
	w, drain := twelve(t)
	pending := func(row *v1alpha1.MemberReplicas) {
		if row.Name == "c4" {
			row.Ready, row.Pending = row.Ready-1, 1
		}
	}
	w.run(pending)
	w.pass()
	w.now = w.now.Add(patience)
	w.run(pending)
	w.undrain(drain)
	b := w.pass()
	if c := b.Spec.Clusters[0]; c.Name != "c1" || c.Replicas != 3 {
		t.Errorf("decided %+v", b.Spec.Clusters)
	}
}

func TestAShareIsGivenBackWhateverElseBefallsTheFleetInThatPass(t *testing.T) {
	for name, c := range map[string]struct {
		befall func(*world)
		want   string
	}{
		"a death": {func(w *world) { w.health("c4", v1alpha1.HealthDead) }, "c1:3 c2:3 c3:3 c4:3"},
		"a drain": {func(w *world) { w.drain("c4") }, "c1:4 c2:4 c3:4"},
		"a cluster that leaves": {func(w *world) {
			if err := w.Delete(w.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c4"}}); err != nil {
				w.Fatal(err)
			}
		}, "c1:4 c2:4 c3:4"},
	} {
		t.Run(name, func(t *testing.T) {
			w, drain := twelve(t)
			w.undrain(drain)
			c.befall(w)
			w.settle(c.want)
		})
	}
}

// Whatever comes with it, a split that was made on half a view is found again when there is a whole one.
func TestAShareThatWasGivenBackByHalvesIsMadeWholeWhateverCameWithIt(t *testing.T) {
	for name, befall := range map[string]func(*world, *v1alpha1.ClusterDrain){
		"nothing": func(w *world, drain *v1alpha1.ClusterDrain) { w.undrain(drain) },
		"a death": func(w *world, drain *v1alpha1.ClusterDrain) {
			w.undrain(drain)
			w.health("c4", v1alpha1.HealthDead)
		},
		"a period that is owed": func(w *world, drain *v1alpha1.ClusterDrain) {
			w.owe(why{trigger: v1alpha1.TriggerPeriod, rebalance: true})
			w.undrain(drain)
		},
		"a view that moves before it is written": func(w *world, drain *v1alpha1.ClusterDrain) {
			w.undrain(drain)
			next := w.views.asked + 4 // of the four views that are decided on, this is the last
			w.views.onAsk = func(n int) {
				if n == next {
					w.views.see(w.T, "c1", 2, 1)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, drain := twelve(t)
			w.health("c1", v1alpha1.HealthSuspect)
			befall(w, drain)
			w.pass()
			w.run()
			if b := w.pass(); b.Spec.Clusters[0].Name == "c1" && b.Spec.Clusters[0].Replicas == 3 {
				t.Fatalf("a suspect cluster gets its share whole: %+v", b.Spec.Clusters)
			}
			w.views.onAsk = nil
			w.views.see(t, "c1", 3, 10)
			w.health("c1", v1alpha1.HealthHealthy)
			w.settle("c1:3 c2:3 c3:3 c4:3")
		})
	}
}

// owe is a decision that could not be written.
func (w *world) owe(reason why) { w.r.owed[client.ObjectKeyFromObject(w.binding())] = reason }
