// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/weir-io/weir/controllers/member"
)

// anyLimits are limits that an API server takes.
func anyLimits(t *rapid.T, name string) limits {
	most := rapid.Int32Range(1, 9).Draw(t, name+" max")
	out := limits{Max: most}
	if rapid.Bool().Draw(t, name+" has a min") {
		out.Min = new(rapid.Int32Range(0, most).Draw(t, name+" min"))
	}
	return out
}

func valid(l limits) bool { return l.Max >= 1 && (l.Min == nil || *l.Min >= 0 && *l.Min <= l.Max) }

func TestLimitsComeBackExactlyHoweverOftenTheyWereLowered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own := anyLimits(t, "own")
		live := own
		var kept *lent
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			n := rapid.Int32Range(0, 9).Draw(t, "replicas")
			want, now := lower("web", live, kept, n)
			switch {
			case !valid(want):
				t.Fatalf("%s became %s", live, want)
			case want.Max != min(own.Max, max(1, n)):
				t.Fatalf("with %d replicas %s became %s", n, own, want)
			case own.Min == nil && want.Min != nil, ptr.Deref(want.Min, 1) < 1, ptr.Deref(want.Min, 1) > max(1, ptr.Deref(own.Min, 1)):
				t.Fatalf("with %d replicas the minimum of %s became that of %s", n, own, want)
			}
			if again, _ := lower("web", want, &now, n); !again.equal(want) {
				t.Fatalf("done twice, %s became %s", want, again)
			}
			live, kept = want, &now
		}
		if got := restored(live, *kept); !got.equal(own) {
			t.Fatalf("%+v came back as %+v", own, got)
		}
	})
}

func TestALimitThatItsOwnerHasChangedIsHis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own := anyLimits(t, "own")
		live, kept := lower("web", own, nil, rapid.Int32Range(0, 9).Draw(t, "replicas"))
		edit := anyLimits(t, "edit")
		hisMin, hisMax := !ptr.Equal(edit.Min, live.Min), edit.Max != live.Max
		again, now := lower("web", edit, &kept, rapid.Int32Range(0, 9).Draw(t, "replicas then"))
		for what, got := range map[string]limits{"lowered": again, "restored": restored(edit, kept), "lowered and restored": restored(again, now)} {
			switch {
			case !valid(got):
				t.Fatalf("%s: %+v, kept %+v", what, got, kept)
			case hisMin && !ptr.Equal(got.Min, edit.Min), hisMax && got.Max != edit.Max:
				t.Fatalf("%s: his edit %+v of %+v became %+v", what, edit, live, got)
			}
		}
	})
}

func TestWhatStandsOnAnAutoscalerIsReadWithCare(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "no JSON": "{", "no maximum": `{"workload":"web"}`, "below none": `{"workload":"web","own":{"minReplicas":-1,"maxReplicas":3}}`,
	} {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetAnnotations(map[string]string{member.AnnotationLimits: text})
		if got := lentBy(u); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
