// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
)

// scale makes an autoscaler on the copy in a member; low nil: without a minimum.
func (w *world) scale(cluster string, low *int32, high int32, change ...func(*autoscalingv2.HorizontalPodAutoscaler)) {
	w.Helper()
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-hpa", UID: "h1", Labels: map[string]string{"team": "shop"}, Annotations: map[string]string{"note": "mine"},
	}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	h.Spec.MinReplicas, h.Spec.MaxReplicas = low, high
	for _, c := range change {
		c(h)
	}
	if err := w.members[cluster].Store.Create(w.Context(), h, client.FieldOwner("kubectl")); err != nil {
		w.Fatal(err)
	}
}

func (w *world) hpa(cluster string) *autoscalingv2.HorizontalPodAutoscaler {
	w.Helper()
	h := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := w.members[cluster].Store.Get(w.Context(), types.NamespacedName{Namespace: "shop", Name: "web-hpa"}, h); err != nil {
		w.Fatal(err)
	}
	return h
}

// ownedBy is what of an autoscaler its owner wrote.
func ownedBy(h *autoscalingv2.HorizontalPodAutoscaler) autoscalingv2.HorizontalPodAutoscaler {
	out := *h.DeepCopy()
	out.ObjectMeta = metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Name, UID: h.UID, Labels: h.Labels, Annotations: h.Annotations}
	delete(out.Annotations, v1alpha1.AnnotationHub)
	delete(out.Annotations, v1alpha1.AnnotationEpoch)
	out.TypeMeta = metav1.TypeMeta{}
	return out
}

// act is what autoscalers do where nobody measures: they keep replicas within limits, and let a workload without any be.
func (w *world) act(cluster string) {
	w.Helper()
	h, d := w.hpa(cluster), w.deployment(cluster)
	if d == nil || *d.Spec.Replicas == 0 {
		return
	}
	if n := min(max(*d.Spec.Replicas, ptr.Deref(h.Spec.MinReplicas, 1)), h.Spec.MaxReplicas); n != *d.Spec.Replicas {
		w.edit(cluster, func(d *appsv1.Deployment) { d.Spec.Replicas = &n })
	}
}

// lower plans n replicas in c1, for a drain, or, lowered false, as at rest.
func (w *world) lower(n int32, lowered bool) {
	w.Helper()
	b := w.binding()
	b.Spec.Plan[0].Replicas, b.Spec.Clusters[0].Replicas, b.Spec.Lowered = n, n, nil
	if lowered {
		b.Spec.Lowered = []string{"c1"}
	}
	b.Generation++
	if err := w.Update(w.Context(), b); err != nil {
		w.Fatal(err)
	}
}

func (w *world) limitsOf(cluster string) string {
	h := w.hpa(cluster)
	return limits{h.Spec.MinReplicas, h.Spec.MaxReplicas}.String()
}

func TestADrainLowersAnAutoscalersLimitsAndGivesThemBackExactly(t *testing.T) {
	for name, low := range map[string]*int32{"with a minimum": new(int32(2)), "without one": nil, "with one of none": new(int32(0))} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bound(t, web, 3, 2)...)
			w.look()
			w.scale("c1", low, 6)
			w.look()
			before := ownedBy(w.hpa("c1"))
			if row := w.row("c1"); row.Autoscaler == nil || row.Autoscaler.State != v1alpha1.AutoscalerOwns || row.Reason != v1alpha1.ReasonHPA {
				t.Errorf("before: %+v", row)
			}
			w.lower(0, true)
			w.look()
			if got := w.limitsOf("c1"); got != "1 to 1" || *w.deployment("c1").Spec.Replicas != 0 {
				t.Errorf("drained: limits are %s, replicas %d", got, *w.deployment("c1").Spec.Replicas)
			}
			if h := w.hpa("c1"); h.Labels[member.LabelLimits] == "" || h.Labels["team"] != "shop" || h.Labels[member.LabelManaged] != "" || low == nil && h.Spec.MinReplicas != nil {
				t.Errorf("drained: %+v", h)
			}
			row := w.row("c1")
			if row.Autoscaler.State != v1alpha1.AutoscalerHeld || row.Sync != v1alpha1.SyncSynced || !strings.Contains(row.Message, "to 6") {
				t.Errorf("drained: %+v", row)
			}
			w.again()
			w.look()
			w.quiet()
			w.look()
			if writes := w.writes(); len(writes) > 0 {
				t.Errorf("drained, it goes on writing %v", writes)
			}
			w.lower(3, false)
			w.look()
			if d := cmp.Diff(before, ownedBy(w.hpa("c1"))); d != "" || *w.deployment("c1").Spec.Replicas != 3 {
				t.Errorf("undrained, with %d replicas:\n%s", *w.deployment("c1").Spec.Replicas, d)
			}
			if row := w.row("c1"); row.Autoscaler.State != v1alpha1.AutoscalerOwns || row.Applied != 3 || row.Sync != v1alpha1.SyncSynced {
				t.Errorf("undrained: %+v", row)
			}
		})
	}
}

// Replicas go step by step where more than one service, or none, stands before a workload.
func TestLimitsFollowThePlanAStepAtATime(t *testing.T) {
	w := newWorld(t, bound(t, web, 5, 2)...)
	w.look()
	w.scale("c1", new(int32(3)), 8)
	for _, c := range []struct {
		n    int32
		want string
	}{{4, "3 to 4"}, {2, "2 to 2"}, {4, "3 to 4"}, {0, "1 to 1"}} {
		w.lower(c.n, true)
		w.look()
		w.act("c1")
		w.look()
		if got := w.limitsOf("c1"); got != c.want || *w.deployment("c1").Spec.Replicas > c.n {
			t.Errorf("with %d planned the limits are %s, and replicas %d", c.n, got, *w.deployment("c1").Spec.Replicas)
		}
	}
	w.lower(5, false)
	w.look()
	if got := w.limitsOf("c1"); got != "3 to 8" || *w.deployment("c1").Spec.Replicas != 5 {
		t.Errorf("in the end %s, %d replicas", got, *w.deployment("c1").Spec.Replicas)
	}
}

func TestAHubThatIsKilledAfterAnyWriteGivesLimitsBackExactly(t *testing.T) {
	errKilled := errors.New("killed")
	for kill := 0; ; kill++ {
		w := newWorld(t, bound(t, web, 3, 2)...)
		w.look()
		w.scale("c1", new(int32(2)), 6)
		w.look()
		before := ownedBy(w.hpa("c1"))
		left, dead := kill, false
		w.members["c1"].Fail(func(r fleettest.Request) error {
			if r.Method == http.MethodGet {
				return nil
			}
			if left--; left < 0 {
				dead = true
				return errKilled
			}
			return nil
		})
		pass := func() {
			w.look()
			w.act("c1")
			if dead && left < 0 { // the next hub comes up, and the autoscaler was there meanwhile.
				w.members["c1"].Fail(nil)
				w.again()
			}
			w.look()
			w.act("c1")
			w.look()
		}
		w.lower(0, true)
		pass()
		if got := w.limitsOf("c1"); got != "1 to 1" || *w.deployment("c1").Spec.Replicas != 0 {
			t.Errorf("killed after %d writes, and drained: limits are %s, replicas %d", kill, got, *w.deployment("c1").Spec.Replicas)
		}
		w.lower(3, false)
		pass()
		if d := cmp.Diff(before, ownedBy(w.hpa("c1"))); d != "" || *w.deployment("c1").Spec.Replicas != 3 {
			t.Errorf("killed after %d writes, and undrained, with %d replicas:\n%s", kill, *w.deployment("c1").Spec.Replicas, d)
		}
		if !dead {
			if kill < 4 {
				t.Errorf("a drain and its undoing took %d writes", kill)
			}
			return
		}
	}
}

func TestALimitThatItsOwnerChangesInADrainStays(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.scale("c1", new(int32(2)), 6)
	w.lower(0, true)
	w.look()
	h := w.hpa("c1")
	h.Spec.MaxReplicas = 9
	if err := w.members["c1"].Store.Update(t.Context(), h, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	w.look()
	if got := w.limitsOf("c1"); got != "1 to 9" {
		t.Errorf("in the drain it became %s", got)
	}
	w.lower(3, false)
	w.look()
	if got := w.limitsOf("c1"); got != "2 to 9" {
		t.Errorf("after it, it became %s", got)
	}
}

func TestLimitsComeBackWhereTheCopyGoes(t *testing.T) {
	for name, leave := range map[string]func(*world){
		"the workload is deleted": func(w *world) {
			for _, o := range []client.Object{&v1alpha1.FederatedDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, w.binding()} {
				if err := w.Delete(w.Context(), o); err != nil {
					w.Fatal(err)
				}
			}
		},
		"its record is deleted, as in an unjoin": func(w *world) {
			if err := w.Delete(w.Context(), w.work("c1", "Deployment")); err != nil {
				w.Fatal(err)
			}
		},
		"it leaves the placement": func(w *world) {
			w.changeWorkload(func(d *v1alpha1.FederatedDeployment) {
				d.Spec.Placement.Clusters = []v1alpha1.PlacementCluster{{Name: "c2"}}
			})
			w.plan([]int32{0, 5}, []int32{0, 5})
		},
		"somebody deletes it": func(w *world) {
			if err := w.members["c1"].Store.Delete(w.Context(), w.deployment("c1")); err != nil {
				w.Fatal(err)
			}
		},
		"somebody takes it over": func(w *world) {
			w.edit("c1", func(d *appsv1.Deployment) { delete(d.Labels, member.LabelManaged) })
		},
		"the autoscaler stands on another": func(w *world) {
			h := w.hpa("c1")
			h.Spec.ScaleTargetRef.Name = "other"
			if err := w.members["c1"].Store.Update(w.Context(), h); err != nil {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bound(t, web, 3, 2)...)
			w.look()
			w.scale("c1", new(int32(2)), 6)
			w.lower(0, true)
			w.look()
			w.run("c1")
			w.look()
			if got := w.limitsOf("c1"); got != "1 to 1" {
				t.Fatalf("in the drain they are %s", got)
			}
			leave(w)
			w.look()
			h := w.hpa("c1")
			if got := w.limitsOf("c1"); got != "2 to 6" || h.Annotations[member.AnnotationLimits] != "" || h.Labels[member.LabelLimits] != "" {
				t.Errorf("they are %s, with %v, %v", got, h.Labels, h.Annotations)
			}
		})
	}
}

func TestAnAutoscalerThatAnOperatorKeepsIsLeftAlone(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.scale("c1", new(int32(2)), 6, func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.OwnerReferences = []metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "web", UID: "s1"}}
	})
	w.lower(0, true)
	w.quiet()
	w.look()
	row := w.row("c1")
	if row.Autoscaler.State != v1alpha1.AutoscalerOperated || row.Autoscaler.Name != "ScaledObject web" || row.Sync != v1alpha1.SyncPending || row.Applied != 3 {
		t.Errorf("%+v", row)
	}
	if got := w.limitsOf("c1"); got != "2 to 6" {
		t.Errorf("its limits are %s", got)
	}
}

func TestNothingIsLoweredByAPlanThatIsOld(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.scale("c1", new(int32(2)), 6)
	w.look()
	old := w.binding()
	old.Spec.Plan[0].Replicas, old.Spec.Lowered = 0, []string{"c1"}
	w.d.Client = stale{w.WithWatch, old}
	w.look()
	if got := w.limitsOf("c1"); got != "2 to 6" || *w.deployment("c1").Spec.Replicas != 3 {
		t.Errorf("limits are %s, replicas %d", got, *w.deployment("c1").Spec.Replicas)
	}
}

// The guard in a member lets the hub write only what bears the label, before or after.
func TestLimitsComeBackWhereSomebodyTookTheLabelOff(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.scale("c1", new(int32(2)), 6)
	w.look()
	before := ownedBy(w.hpa("c1"))
	w.lower(0, true)
	w.look()
	h := w.hpa("c1")
	delete(h.Labels, member.LabelLimits)
	if err := w.members["c1"].Store.Update(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	w.members["c1"].Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodGet || !strings.Contains(r.Path, "horizontalpodautoscalers") {
			return nil
		}
		_, bears := w.hpa("c1").Labels[member.LabelLimits]
		if !bears && !strings.Contains(r.Body, fmt.Sprintf("%q:%q", member.LabelLimits, member.LabelLimitsValue)) {
			return apierrors.NewForbidden(scalers.GroupResource(), "web-hpa", errors.New("weir's hub may change an autoscaler only while it bears the label"))
		}
		return nil
	})
	w.lower(3, false)
	w.look()
	if d := cmp.Diff(before, ownedBy(w.hpa("c1"))); d != "" || *w.deployment("c1").Spec.Replicas != 3 {
		t.Errorf("with %d replicas:\n%s", *w.deployment("c1").Spec.Replicas, d)
	}
	if row := w.row("c1"); row.Sync != v1alpha1.SyncSynced || row.Autoscaler.State != v1alpha1.AutoscalerOwns {
		t.Errorf("%+v", row)
	}
}

// It stood on another federated workload when that was drained, and stands on this one now.
func TestLimitsThatAreLoweredForAnotherWorkloadAreNotTaken(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	_, kept := lower("other", limits{new(int32(2)), 6}, nil, 0)
	text, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	w.scale("c1", new(int32(1)), 1, func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.Labels[member.LabelLimits], h.Annotations[member.AnnotationLimits] = member.LabelLimitsValue, string(text)
	})
	for range 2 {
		w.lower(0, true)
		w.look()
		if got := w.hpa("c1").Annotations[member.AnnotationLimits]; got != string(text) || *w.deployment("c1").Spec.Replicas != 0 {
			t.Errorf("drained, %d replicas, it bears %s", *w.deployment("c1").Spec.Replicas, got)
		}
		w.lower(3, false)
		w.look()
		if got := w.hpa("c1").Annotations[member.AnnotationLimits]; got != string(text) || *w.deployment("c1").Spec.Replicas != 3 {
			t.Errorf("undrained, %d replicas, it bears %s", *w.deployment("c1").Spec.Replicas, got)
		}
	}
	live, err := recoded(w.hpa("c1"))
	if err != nil {
		t.Fatal(err)
	}
	for workload, owns := range map[string]bool{"web": false, "other": true} {
		if got := scalersOf([]unstructured.Unstructured{live}, workload); len(got) != 1 || (got[0].kept != nil) != owns || got[0].lent == owns {
			t.Errorf("for %s: %+v", workload, got)
		}
	}
}

func recoded(h *autoscalingv2.HorizontalPodAutoscaler) (unstructured.Unstructured, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(h)
	return unstructured.Unstructured{Object: object}, err
}

func TestACopyThatIsGoneHasNoAutoscaler(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.scale("c1", new(int32(2)), 6)
	w.look()
	if w.row("c1").Autoscaler == nil {
		t.Fatalf("%+v", w.row("c1"))
	}
	if err := w.members["c1"].Store.Delete(t.Context(), w.deployment("c1")); err != nil {
		t.Fatal(err)
	}
	w.plan([]int32{0, 5}, []int32{3, 2})
	w.look()
	if row := w.row("c1"); row.Autoscaler != nil || row.Applied != 0 || row.Sync != v1alpha1.SyncSynced {
		t.Errorf("%+v", row)
	}
}

// More is planned than was decided, because a drain gave an autoscaler back what it had asked for: that is no reason to keep an
// old template.
func TestANewTemplateReachesACopyOfWhichAnAutoscalerKeepsMore(t *testing.T) {
	for name, c := range map[string]struct {
		scaled  bool
		decided int32
		want    string
	}{"an autoscaler keeps them": {true, 3, "new"}, "they are to go": {false, 3, "shop"}, "all are to go": {true, 0, "shop"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bound(t, web, 5, 2)...)
			w.look()
			if c.scaled {
				w.scale("c1", new(int32(2)), 6)
			}
			w.plan([]int32{5, 2}, []int32{c.decided, 2})
			w.look()
			w.changeWorkload(func(d *v1alpha1.FederatedDeployment) { d.Spec.Template.Metadata.Labels["team"] = "new" })
			w.look()
			if got := w.deployment("c1").Labels["team"]; got != c.want {
				t.Errorf("it is of %s", got)
			}
		})
	}
}

func TestAMemberThatDoesNotLetLimitsBeChangedSaysSo(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.scale("c1", new(int32(2)), 6)
	w.lower(0, true)
	w.members["c1"].Fail(func(r fleettest.Request) error {
		if r.Method != http.MethodGet && strings.Contains(r.Path, "horizontalpodautoscalers") {
			return apierrors.NewForbidden(scalers.GroupResource(), "web-hpa", nil)
		}
		return nil
	})
	w.look()
	row := w.row("c1")
	if row.Sync != v1alpha1.SyncFailed || row.Reason != ReasonForbidden || !strings.Contains(row.Message, "horizontalpodautoscalers") || *w.deployment("c1").Spec.Replicas != 3 {
		t.Errorf("%+v", row)
	}
}

// An autoscaler does nothing to a workload that asks for none, so weir brings it back from there.
func TestWeirBringsBackWhatAsksForNone(t *testing.T) {
	w := newWorld(t, bound(t, web, 0, 5)...)
	w.plan([]int32{3, 2}, []int32{3, 2})
	w.look()
	w.edit("c1", func(d *appsv1.Deployment) { none := int32(0); d.Spec.Replicas = &none })
	w.scale("c1", new(int32(2)), 6)
	w.look()
	if n := *w.deployment("c1").Spec.Replicas; n != 3 {
		t.Errorf("replicas are %d", n)
	}
}
