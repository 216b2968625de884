// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
)

func TestEachMemberGetsItsOwnCopyAndTheSameSelector(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	for cluster, want := range map[string]struct {
		replicas int32
		image    string
	}{"c1": {3, "a"}, "c2": {2, "b"}} {
		d := w.deployment(cluster)
		if d == nil || *d.Spec.Replicas != want.replicas || d.Spec.Template.Spec.Containers[0].Image != want.image || d.Labels["team"] != "shop" {
			t.Errorf("%s: %+v", cluster, d)
			continue
		}
		selector := map[string]string{LabelWorkload: "web"}
		if diff := cmp.Diff(selector, d.Spec.Selector.MatchLabels) + cmp.Diff(selector, d.Spec.Template.Labels); diff != "" {
			t.Error(diff)
		}
		if d.Labels[member.LabelManaged] != member.LabelManagedValue || d.Annotations[member.AnnotationApplied] == "" || d.Annotations[v1alpha1.AnnotationBinding] != "shop/deployment-web" {
			t.Errorf("%s: labels %v, annotations %v", cluster, d.Labels, d.Annotations)
		}
		record := w.work(cluster, "Deployment")
		if record == nil || replicasOf(recorded(record)) != want.replicas || record.Status.Manifests[0].Sync != v1alpha1.SyncSynced || record.Status.Manifests[0].WrittenAt == nil {
			t.Errorf("%s: record %+v", cluster, record)
		}
	}
}

func TestAMemberWhoseCopyStandsGetsNoWrite(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.quiet()
	before := w.look()
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
	if after := w.look(); after.ResourceVersion != before.ResourceVersion {
		t.Error("the binding was written again")
	}
	w.plan([]int32{3, 3}, []int32{3, 3})
	w.look()
	if writes := w.writes(); len(writes) != 1 || !strings.HasPrefix(writes[0], "c2 PATCH") {
		t.Errorf("wrote %v", writes)
	}
}

func TestTheTemplateWinsOverEditsInMembersButForRetainedFields(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.edit("c1", func(d *appsv1.Deployment) {
		n := int32(9)
		d.Spec.Replicas, d.Spec.MinReadySeconds = &n, 7
		d.Spec.Template.Spec.Containers[0].Image = "theirs"
		d.Annotations["note"] = "mine"
		d.Labels["team"] = "theirs"
	})
	w.look()
	d := w.deployment("c1")
	if *d.Spec.Replicas != 3 || d.Spec.Template.Spec.Containers[0].Image != "a" || d.Labels["team"] != "shop" {
		t.Errorf("an edit was left: %+v", d.Spec)
	}
	if d.Spec.MinReadySeconds != 7 || d.Annotations["note"] != "mine" {
		t.Errorf("a retained field was taken: %d, %v", d.Spec.MinReadySeconds, d.Annotations)
	}
	w.edit("c1", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 8 })
	w.quiet()
	w.look()
	if writes := w.writes(); len(writes) > 0 || w.deployment("c1").Spec.MinReadySeconds != 8 {
		t.Errorf("wrote %v for a retained field", writes)
	}
}

func TestAnObjectThatWeirDidNotMakeIsAConflictWithAWayOut(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	theirs := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	one := int32(1)
	theirs.Spec.Replicas = &one
	if err := w.members["c1"].Store.Create(t.Context(), theirs, client.FieldOwner("argocd")); err != nil {
		t.Fatal(err)
	}
	b := w.look()
	if *w.deployment("c1").Spec.Replicas != 1 || w.deployment("c2") == nil {
		t.Error("theirs was written, or it held up the other member")
	}
	row := w.row("c1")
	if row.Sync != v1alpha1.SyncConflict || row.Reason != v1alpha1.ReasonConflict || row.Applied != 0 ||
		!strings.Contains(row.Message, "argocd") || !strings.Contains(row.Message, "app.kubernetes.io/managed-by=weir") {
		t.Errorf("%+v", row)
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionPropagated)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonConflict {
		t.Errorf("%+v", c)
	}
}

func TestWhatMembersHoldIsSaid(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.run("c1")
	w.run("c2", func(s *appsv1.DeploymentStatus) { s.ReadyReplicas, s.UpdatedReplicas = 1, 1 })
	for i, node := range []string{"n1", ""} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-" + string(rune('a'+i)), Labels: map[string]string{LabelWorkload: "web"}}}
		pod.Spec.NodeName = node
		if err := w.members["c2"].Store.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	w.look()
	if row := w.row("c1"); row.Wanted != 3 || row.Applied != 3 || row.Ready != 3 || row.Available != 3 || row.Rollout != v1alpha1.RolloutComplete || row.Sight != v1alpha1.SightSeen || row.SeenAt == nil {
		t.Errorf("%+v", row)
	}
	if row := w.row("c2"); row.Ready != 1 || row.Pending != 1 || row.Rollout != v1alpha1.RolloutProgressing {
		t.Errorf("%+v", row)
	}
}

func TestWhatAMemberSaidLastStandsWhileItIsNotSeen(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.run("c1")
	w.look()
	saw := w.row("c1").SeenAt
	w.members["c1"].Stop()
	w.now = w.now.Add(10 * time.Minute)
	b := w.look()
	row := w.row("c1")
	if row.Sight != v1alpha1.SightBlind || row.Ready != 3 || row.Applied != 3 || !row.SeenAt.Equal(saw) || row.Reason != v1alpha1.ReasonContactLost {
		t.Errorf("%+v", row)
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionPropagated)
	if c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonContactLost {
		t.Errorf("%+v", c)
	}
	if row := w.row("c2"); row.Sight != v1alpha1.SightSeen || row.Sync != v1alpha1.SyncSynced {
		t.Errorf("the other one: %+v", row)
	}
}

func TestACopyThatLeftThePlacementGoesOnceItIsEmpty(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.run("c1")
	w.run("c2")
	w.look()
	w.changeWorkload(func(d *v1alpha1.FederatedDeployment) {
		d.Spec.Placement.Clusters, d.Spec.Overrides = []v1alpha1.PlacementCluster{{Name: "c1"}}, nil
	})
	w.plan([]int32{5, 0}, []int32{5, 0})
	w.look()
	if d := w.deployment("c2"); d == nil || *d.Spec.Replicas != 0 {
		t.Fatalf("it is not emptied first: %+v", d)
	}
	w.look()
	if d := w.deployment("c2"); d == nil {
		t.Fatal("it is gone with pods still there")
	}
	w.run("c2")
	w.look()
	w.look()
	if d := w.deployment("c2"); d != nil {
		t.Errorf("it is still there: %+v", d.Status)
	}
	b := w.look()
	if w.work("c2", "Deployment") != nil || rowOf(b, "c2") != nil {
		t.Errorf("it is still on record: %+v", b.Status.Clusters)
	}
}

func TestADrainedMemberKeepsAnEmptyCopy(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.plan([]int32{5, 0}, []int32{5, 0})
	w.look()
	w.run("c2")
	for range 3 {
		w.look()
	}
	if d := w.deployment("c2"); d == nil || *d.Spec.Replicas != 0 {
		t.Errorf("%+v", d)
	}
}

func TestADeletedWorkloadTakesItsCopiesWithItAndNothingElse(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	d := &v1alpha1.FederatedDeployment{}
	if err := w.Get(t.Context(), key, d); err != nil {
		t.Fatal(err)
	}
	w.edit("c2", func(d *appsv1.Deployment) { delete(d.Labels, member.LabelManaged) }) // somebody took it over
	for _, o := range []client.Object{d, w.binding()} {
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.look()
	w.look()
	if w.deployment("c1") != nil || w.deployment("c2") == nil {
		t.Error("c1 is left, or c2 is gone")
	}
	if w.work("c1", "Deployment") != nil || w.work("c2", "Deployment") != nil {
		t.Error("a record is left")
	}
}

func TestALostBindingChangesNothingInMembers(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	if err := w.Delete(t.Context(), w.binding()); err != nil {
		t.Fatal(err)
	}
	w.quiet()
	w.look()
	anew := bound(t, web)[1]
	if err := w.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	w.look()
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

// The live plan has moved on since the cache saw it: what the cache says would take away again what is needed by now.
func TestReplicasAreNotLoweredByAPlanThatIsOld(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	old := w.binding()
	old.Spec.Plan[0].Replicas = 1
	w.d.Client = stale{w.WithWatch, old}
	w.quiet()
	w.look()
	if writes := w.writes(); len(writes) > 0 || *w.deployment("c1").Spec.Replicas != 3 {
		t.Errorf("wrote %v", writes)
	}
}

// stale is a cache that still holds a binding as it was.
type stale struct {
	client.WithWatch

	binding *v1alpha1.ResourceBinding
}

func (s stale) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if b, ok := o.(*v1alpha1.ResourceBinding); ok {
		s.binding.DeepCopyInto(b)
		b.Generation = 0
		return nil
	}
	return s.WithWatch.Get(ctx, key, o, opts...)
}

func TestAnAutoscalerOwnsTheReplicas(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-hpa"}}
	scaler.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	if err := w.members["c1"].Store.Create(t.Context(), scaler); err != nil {
		t.Fatal(err)
	}
	w.edit("c1", func(d *appsv1.Deployment) { seven := int32(7); d.Spec.Replicas = &seven })
	w.plan([]int32{2, 3}, []int32{2, 3})
	b := w.look()
	if n := *w.deployment("c1").Spec.Replicas; n != 7 {
		t.Errorf("replicas are %d", n)
	}
	row := w.row("c1")
	if row.Sync != v1alpha1.SyncPending || row.Reason != v1alpha1.ReasonHPA || !strings.Contains(row.Message, "web-hpa") || row.Applied != 7 {
		t.Errorf("%+v", row)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionPropagated); c.Reason != v1alpha1.ReasonHPA {
		t.Errorf("%+v", c)
	}
	w.edit("c1", func(d *appsv1.Deployment) { eight := int32(8); d.Spec.Replicas = &eight })
	w.quiet()
	w.look()
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v because the autoscaler did", writes)
	}
	w.changeWorkload(func(d *v1alpha1.FederatedDeployment) { d.Spec.Template.Metadata.Labels["team"] = "other" })
	w.look()
	if d := w.deployment("c1"); d.Labels["team"] != "other" || *d.Spec.Replicas != 8 {
		t.Errorf("%v, %d", d.Labels, *d.Spec.Replicas)
	}
}

func TestANewTemplateWaitsWhereReplicasAreToGo(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.plan([]int32{3, 5}, []int32{0, 5})
	w.changeWorkload(func(d *v1alpha1.FederatedDeployment) {
		d.Spec.Template.Spec = parsed[v1alpha1.FederatedDeployment](t, strings.ReplaceAll(web, "image: a", "image: new")).Spec.Template.Spec
		d.Spec.Overrides = nil
	})
	w.look()
	if got := w.deployment("c1").Spec.Template.Spec.Containers[0].Image; got != "a" {
		t.Errorf("where they go: %s", got)
	}
	if d := w.deployment("c2"); d.Spec.Template.Spec.Containers[0].Image != "new" || *d.Spec.Replicas != 5 {
		t.Errorf("where they come: %+v", d.Spec)
	}
	w.plan([]int32{1, 5}, []int32{0, 5})
	w.look()
	if d := w.deployment("c1"); *d.Spec.Replicas != 1 || d.Spec.Template.Spec.Containers[0].Image != "a" {
		t.Errorf("where they go, a step on: %+v", d.Spec)
	}
}

func TestATemplateThatCannotBeReadLeavesCopiesAndTheirReplicasFollowThePlan(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.changeWorkload(func(d *v1alpha1.FederatedDeployment) {
		d.Spec.Template.Spec = parsed[v1alpha1.FederatedDeployment](t, strings.ReplaceAll(web, "image: a", "imge: a")).Spec.Template.Spec
	})
	w.plan([]int32{4, 2}, []int32{4, 2})
	w.look()
	if d := w.deployment("c1"); *d.Spec.Replicas != 4 || d.Spec.Template.Spec.Containers[0].Image != "a" {
		t.Errorf("%+v", d.Spec)
	}
}

func TestWhoDeletesARecordTakesAwayWhatItPlacedAndThePlanMakesItAnew(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	if err := w.Delete(t.Context(), w.work("c1", "Deployment")); err != nil {
		t.Fatal(err)
	}
	if w.work("c1", "Deployment") == nil {
		t.Fatal("nothing holds the record until the copy is gone")
	}
	w.look()
	if w.deployment("c1") != nil {
		t.Error("the copy is left")
	}
	w.look() // the record goes
	w.look()
	if d := w.deployment("c1"); d == nil || *d.Spec.Replicas != 3 {
		t.Errorf("%+v", d)
	}
}

func TestWhatAMemberRefusesIsSaidAndHoldsUpNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason string
	}{
		"no namespace": {&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Details: &metav1.StatusDetails{Kind: "namespaces", Name: "shop"}}}, ReasonNoNamespace},
		"no right":     {apierrors.NewForbidden(deployments.resource.GroupResource(), "web", nil), ReasonForbidden},
		"invalid":      {apierrors.NewInvalid(deployments.gvk().GroupKind(), "web", nil), ReasonRejected},
		"just started": {&apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
			Message: `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'weir-epoch' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'federation.weir.io/v1alpha1, Kind=FederationEpoch'`,
		}}, v1alpha1.ReasonEpochNotTaken},
		"trouble": {apierrors.NewInternalError(context.DeadlineExceeded), ReasonWriteFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bound(t, web, 3, 2)...)
			w.members["c1"].Fail(func(r fleettest.Request) error {
				if r.Method == http.MethodPatch {
					return c.err
				}
				return nil
			})
			w.look()
			if row := w.row("c1"); row.Sync != v1alpha1.SyncFailed || row.Reason != c.reason || row.Message == "" || row.Sight != v1alpha1.SightSeen {
				t.Errorf("%+v", row)
			}
			if row := w.row("c2"); row.Sync != v1alpha1.SyncSynced {
				t.Errorf("%+v", row)
			}
		})
	}
}
