// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// ownedWorld is a world whose service has the pods of a federated workload, and what scheduler and sync do with it.
type ownedWorld struct {
	*world

	fits    map[string]int32 // how many pods become ready in a cluster at most; all where it is missing
	frozen  map[string]bool  // members that take no writes
	scalers map[string]*autoscaler
	lenient bool // one look may fail: the hub is killed in it
	writes  int  // plans that were written until the drain was done
}

// newOwned makes clusters c1, c2, … with so many replicas each.
func newOwned(t *testing.T, replicas ...int32) *ownedWorld {
	t.Helper()
	gs := service()
	for i, n := range replicas {
		c := seen(fmt.Sprintf("c%d", i+1), n, n)
		c.Binding = bindingKey.String()
		gs.Status.Clusters = append(gs.Status.Clusters, c)
	}
	w := &ownedWorld{world: newWorld(t, gs)}
	b := &v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: bindingKey.Namespace, Name: bindingKey.Name}}
	b.Spec.Resource = v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "demo", Name: "echo"}
	for i, n := range replicas {
		b.Spec.Plan = append(b.Spec.Plan, v1alpha1.ClusterReplicas{Name: fmt.Sprintf("c%d", i+1), Replicas: n})
	}
	if err := w.hub.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.decide(nil, replicas...)
	return w
}

func (w *ownedWorld) binding() *v1alpha1.ResourceBinding {
	w.Helper()
	var b v1alpha1.ResourceBinding
	if err := w.hub.Get(w.Context(), bindingKey, &b); err != nil {
		w.Fatal(err)
	}
	return &b
}

// decide writes a decision as the scheduler does, which knows that the drained clusters are to get nothing.
func (w *ownedWorld) decide(drained []string, replicas ...int32) {
	w.Helper()
	b := w.binding()
	b.Spec.Clusters = nil
	record := v1alpha1.DecisionRecord{Time: metav1.NewTime(w.now), Trigger: v1alpha1.TriggerWishChanged}
	for i, n := range replicas {
		if n > 0 {
			c := v1alpha1.BindingCluster{Name: fmt.Sprintf("c%d", i+1), Replicas: n}
			b.Spec.Clusters, record.Clusters = append(b.Spec.Clusters, c), append(record.Clusters, c)
			record.ClusterCount++
		}
	}
	for _, name := range drained {
		record.Reasons = append(record.Reasons, v1alpha1.DecisionReason{Cluster: name, Code: "Drained"})
	}
	if err := w.hub.Update(w.Context(), b); err != nil {
		w.Fatal(err)
	}
	b.Status.History = append(b.Status.History, record)
	w.update(b)
}

func (w *ownedWorld) update(b *v1alpha1.ResourceBinding) {
	w.Helper()
	if err := w.hub.Status().Update(w.Context(), b); err != nil {
		w.Fatal(err)
	}
}

// row changes what was seen of the workload in a cluster.
func (w *ownedWorld) row(cluster string, change func(*v1alpha1.MemberReplicas)) {
	w.Helper()
	b := w.binding()
	for i := range b.Status.Clusters {
		if b.Status.Clusters[i].Name == cluster {
			change(&b.Status.Clusters[i])
		}
	}
	w.update(b)
}

// settle plans and carries out until a look changes nothing any more.
func (w *ownedWorld) settle() *v1alpha1.GlobalService {
	w.Helper()
	var gs *v1alpha1.GlobalService
	w.until(func(now *v1alpha1.GlobalService) bool {
		quiet := gs != nil && gs.Generation == now.Generation && len(gs.Status.Steps) == len(now.Status.Steps) && sameSpec(gs, now)
		gs = now
		return quiet
	})
	return gs
}

func (w *ownedWorld) until(reached func(*v1alpha1.GlobalService) bool) {
	w.Helper()
	for range 200 {
		if _, err := w.step(); err != nil && !w.lenient {
			w.Fatal(err)
		}
		w.members()
		w.carryOut()
		if reached(w.service()) {
			return
		}
	}
	w.Fatalf("after two hundred looks: %v, %+v", kinds(w.service()), w.service().Status.Shift)
}

func sameSpec(a, b *v1alpha1.GlobalService) bool {
	return fmt.Sprint(planned(a), weights(a), a.Spec.Generation, a.Spec.FenceGeneration, a.Spec.Record == nil) ==
		fmt.Sprint(planned(b), weights(b), b.Spec.Generation, b.Spec.FenceGeneration, b.Spec.Record == nil)
}

// members do with the planned replicas what sync and the members' own controllers do: pods that were asked for come, fenced
// where the entry is shut, and of those that are too many the unready go first, then the fenced.
func (w *ownedWorld) members() {
	w.Helper()
	gs, b := w.service(), w.binding()
	want := planned(gs)
	rows := map[string]v1alpha1.MemberReplicas{}
	for _, r := range b.Status.Clusters {
		rows[r.Name] = r
	}
	b.Status.Clusters = nil
	for i := range gs.Status.Clusters {
		c := &gs.Status.Clusters[i]
		n, ok := want[c.Name]
		r, known := rows[c.Name]
		if !ok || w.frozen[c.Name] && known {
			n = r.Applied
			if !known {
				n = c.Replicas
			}
		}
		if s := w.scalers[c.Name]; s != nil {
			n, r.Autoscaler = s.act(gs, c.Name, n, r.Applied)
		}
		r.Name, r.Wanted, r.Applied = c.Name, n, n
		ready := n
		if most, tight := w.fits[c.Name]; tight {
			ready = min(n, most)
		}
		if gone := c.Ready - ready; gone > 0 {
			if n < c.Ready && c.Ready-n > c.Fenced && (w.scalers[c.Name] == nil || lowered(gs, c.Name)) {
				w.Errorf("%s goes from %d pods to %d, and %d are fenced", c.Name, c.Ready, n, c.Fenced)
			}
			c.Fenced = max(0, c.Fenced-gone)
		}
		c.Replicas, c.Ready, r.Ready = n, ready, ready
		b.Status.Clusters = append(b.Status.Clusters, r)
	}
	if err := w.hub.Status().Update(w.Context(), gs); err != nil {
		w.Fatal(err)
	}
	w.update(b)
}

// drained drains c2 of three clusters with three replicas each to the end.
func (w *ownedWorld) drained() {
	w.Helper()
	w.settle()
	w.ask("c2", v1alpha1.GoalDrain)
	w.decide([]string{"c2"}, 5, 0, 4)
	w.until(func(gs *v1alpha1.GlobalService) bool {
		return doneSince(gs, "c2", v1alpha1.GoalDrain, w.now.Add(-1e12))
	})
	w.writes = len(w.planned)
}

// atRest checks that a division stands, and that nothing of the move is left.
func (w *ownedWorld) atRest(gs *v1alpha1.GlobalService, replicas ...int32) {
	w.Helper()
	got := planned(gs)
	for i, n := range replicas {
		if name := fmt.Sprintf("c%d", i+1); got[name] != n {
			w.Errorf("%s has %d replicas planned, want %d", name, got[name], n)
		}
	}
	for _, c := range gs.Spec.Clusters {
		if c.FencedPods != 0 || c.NewPods != v1alpha1.PodsOpen {
			w.Errorf("a fence is left: %+v", c)
		}
	}
	if gs.Spec.Record != nil || gs.Status.Shift.Step != "Done" {
		w.Errorf("record %+v, shift %+v, on record %v", gs.Spec.Record, gs.Status.Shift, kinds(gs))
	}
}
