// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := decode([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestWhatAMemberKeepsIsStatedAsItStandsThereAndIsNoPartOfTheHash(t *testing.T) {
	w := &wish{
		of: deployments, object: object(t, `{"metadata": {"annotations": {"a/b": "ours"}}, "spec": {"x": 1, "l": [{"y": 1}]}}`),
		retained: []v1alpha1.FieldPath{"/metadata/annotations/a~1b", "/spec/l/0/y", "/spec/gone", "/spec/new/deep"},
	}
	fresh, err := stated(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.object.Object, fresh.object.Object); diff != "" {
		t.Errorf("a new copy: %s", diff)
	}
	live := object(t, `{"metadata": {"annotations": {"a/b": "theirs"}}, "spec": {"x": 2, "l": [{"y": 5}], "new": {"deep": true}}}`)
	s, err := stated(w, live)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"annotations":{"a/b":"theirs"}},"spec":{"l":[{"y":5}],"new":{"deep":true},"x":1}}`
	if got, err := json.Marshal(s.object.Object); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if s.hash != fresh.hash {
		t.Error("the hash depends on what the member keeps")
	}
	w.object.Object["spec"].(map[string]any)["x"] = int64(3)
	if other, err := stated(w, live); err != nil || other.hash == s.hash {
		t.Errorf("the hash does not depend on what weir states, %v", err)
	}
}

func TestACopyStandsWhateverAnAPIServerMadeOfWhatWasWritten(t *testing.T) {
	s := statement{object(t, `{"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1000m"}}}]}}}}`), "h"}
	live := func(change string) *unstructured.Unstructured {
		u := object(t, `{"metadata": {"generation": 4, "labels": {"a": "b", "more": "c"}}, "spec": {"replicas": 2, "paused": false, "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}}}`)
		u.SetAnnotations(map[string]string{member.AnnotationApplied: "h"})
		switch change {
		case "hash":
			u.SetAnnotations(map[string]string{member.AnnotationApplied: "other"})
		case "label":
			u.SetLabels(nil)
		case "replicas":
			setReplicas(u, 3)
		case "item":
			containers, _ := at(u.Object, []string{"spec", "template", "spec", "containers"})
			u.Object = put(u.Object, []string{"spec", "template", "spec", "containers"}, append(containers.([]any), map[string]any{"name": "injected"}), true).(map[string]any)
		}
		return u
	}
	for name, c := range map[string]struct {
		change     string
		generation int64
		want       bool
	}{
		"as written":                     {"", 4, true},
		"as written, by nobody's record": {"", 0, true},
		"another statement":              {"hash", 4, false},
		"a label is gone":                {"label", 4, false},
		"replicas were edited":           {"replicas", 3, false},
		"an item was added":              {"item", 3, false},
		"an item was added that the write could not take": {"item", 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stands(deployments, s, live(c.change), c.generation); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestWhatAMemberSaysOfReplicasStaysWithinWhatOthersCanAddUp(t *testing.T) {
	for text, want := range map[string]v1alpha1.MemberReplicas{
		`{"spec": {"replicas": -5}, "status": {"readyReplicas": -7, "availableReplicas": -2147483648, "updatedReplicas": -1}}`:                  {},
		`{"spec": {"replicas": 2147483647}, "status": {"readyReplicas": 2147483647, "availableReplicas": 2000000, "updatedReplicas": 1000000}}`: {Applied: most, Ready: most, Available: most, Updated: most},
		`{"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "availableReplicas": 1}}`:                                                     {Applied: 3, Ready: 2, Available: 1},
	} {
		var got v1alpha1.MemberReplicas
		factsOf(&got, object(t, text))
		got.Rollout = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{`{"spec": {"replicas": 4294967291}}`, `{"spec": {"replicas": -4294967291}}`} {
		if n := replicasOf(object(t, text)); n < 0 || n > most {
			t.Errorf("%s: %d", text, n)
		}
	}
}
