// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestAnOverrideOfAFieldThatIsNoneIsSentNowhereAndNamed(t *testing.T) {
	const misspelt = "{path: /spec/template/spec/containers/0/imagee, value: b}"
	text := strings.Replace(web, "{path: /spec/template/spec/containers/0/image, value: b}", misspelt, 1)
	w := newWorld(t, bound(t, text, 3, 2)...)
	w.look()
	row := w.row("c2")
	if w.deployment("c2") != nil || row.Sync != v1alpha1.SyncFailed || row.Reason != v1alpha1.ReasonInvalidOverride ||
		!strings.Contains(row.Message, "spec.overrides[0].clusterOverrides[0].path") || !strings.Contains(row.Message, "for c2, spec.template.spec.containers[0].imagee: ") {
		t.Errorf("%+v", row)
	}
	if w.deployment("c1") == nil || w.row("c1").Sync != v1alpha1.SyncSynced {
		t.Errorf("it held up the other member: %+v", w.row("c1"))
	}
}

func TestACopyThatStandsStaysUnderAnOverrideOfAFieldThatIsNoneAndItsReplicasFollow(t *testing.T) {
	w := newWorld(t, bound(t, web, 3, 2)...)
	w.look()
	w.changeWorkload(func(d *v1alpha1.FederatedDeployment) { d.Spec.Overrides[0].ClusterOverrides[0].Path += "e" })
	w.plan([]int32{1, 4}, []int32{1, 4})
	w.look()
	if d := w.deployment("c2"); *d.Spec.Replicas != 4 || d.Spec.Template.Spec.Containers[0].Image != "b" {
		t.Errorf("%+v", d.Spec)
	}
}

func TestAnOverrideOfAFieldThatNoServiceHasIsSentNowhereAndNamed(t *testing.T) {
	for cluster, told := range map[string]string{"c2": "for c2, spec.ports[0].targetport: ", "c9": "for c9, spec.ports[0].targetport: "} {
		t.Run(cluster, func(t *testing.T) {
			text := strings.Replace(webService, "targetPort, value: 9090", "targetport, value: 9090", 1)
			w := newWorld(t, parsed[v1alpha1.FederatedService](t, strings.Replace(text, "clusterName: c2", "clusterName: "+cluster, 1)))
			s := w.lookService()
			c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			if c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonInvalidOverride || !strings.Contains(c.Message, told) {
				t.Errorf("%+v", c)
			}
			if row := s.Status.Clusters[1]; (cluster == "c2") != (row.Reason == v1alpha1.ReasonInvalidOverride) || (cluster == "c2") != (w.service("c2") == nil) {
				t.Errorf("%+v", row)
			}
			if w.service("c1") == nil {
				t.Error("it held up the other member")
			}
		})
	}
}
