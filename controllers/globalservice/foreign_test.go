// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

// forgotten makes the hub one that has begun anew: of the member it knows nothing.
func (w *world) forgotten(name string) {
	w.Helper()
	w.remove(name)
	w.link.Leave(w.T, name, w.members[name].agent)
}

// edited is weir's VirtualService of a member as somebody has changed it.
func (w *world) edited(name string) string {
	w.Helper()
	u := w.stands(name, "VirtualService")
	u.Object["spec"].(map[string]any)["hosts"] = []any{"other"}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "mallory", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec": {"f:hosts": {}}}`),
	}})
	raw, err := u.MarshalJSON()
	if err != nil {
		w.Fatal(err)
	}
	return string(raw)
}

// awaits are the ways in which a member's agent may not be there to say whether somebody's rule still stands.
var awaits = map[string]func(w *world){
	"its agent is away":                    func(w *world) { w.link.Leave(w.T, "c2", w.members["c2"].agent) },
	"the hub is anew and has not heard it": func(w *world) { w.forgotten("c2") },
	"the hub is anew and is being told": func(w *world) {
		w.forgotten("c2")
		w.members["c2"].agent = w.link.Begin(w.T, "c2", mesh("c2"))
	},
}

func TestARuleOfOthersCountsUntilItsAgentSaysThatItIsGone(t *testing.T) {
	for name, leave := range awaits {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3, ruled(foreignRule)), facts(3)})
			w.look()
			w.look()
			leave(w)
			w.look()
			gs := w.plan(subsets)
			if reason, message := ready(gs); reason != "False ForeignRule" || !strings.HasPrefix(message, "c2: ") || len(gs.Status.Foreign) != 1 {
				t.Errorf("got %s: %s", reason, message)
			}
			w.link.Leave(t, "c2", w.members["c2"].agent)
			w.ahead += repeatAfter
			if reason, message := ready(w.look()); reason != "False ForeignRule" || !strings.HasSuffix(message, "until the agent is heard again, or the cluster is lost.") {
				t.Errorf("away again, got %s: %s", reason, message)
			}
			if writes := w.ruleWrites(); len(writes) > 0 {
				t.Errorf("wrote %v", writes)
			}
			w.members["c2"].agent = w.link.Join(t, "c2", mesh("c2"), facts(3))
			if reason, message := ready(w.look()); !strings.HasPrefix(reason, "True ") {
				t.Errorf("it says that the rule is gone, and got %s: %s", reason, message)
			}
		})
	}
}

func TestAnEditOfWeirsRuleCountsUntilItsAgentSaysThatItIsGone(t *testing.T) {
	for name, leave := range awaits {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
			w.look()
			w.look()
			w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
			w.set("c2", facts(3, ruled(w.edited("c2"))))
			if reason, message := ready(w.look()); reason != "False ForeignEdit" || !strings.Contains(message, "c2: weir's own VirtualService demo/weir-echo: mallory set") {
				t.Fatalf("got %s: %s", reason, message)
			}
			w.writes()
			leave(w)
			gs := w.plan(split(2, map[string]int32{"c1": 900, "c2": 100}))
			if reason, message := ready(gs); reason != "False ForeignEdit" || len(gs.Status.Foreign) == 0 {
				t.Errorf("got %s: %s", reason, message)
			}
			if writes := w.ruleWrites(); len(writes) > 0 {
				t.Errorf("wrote %v", writes)
			}
		})
	}
}

func TestARuleThatWasToldCountsThoughNoStatusHasNamedItYet(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.set("c2", facts(3, ruled(foreignRule)))
	w.link.Leave(t, "c2", w.members["c2"].agent)
	if reason, message := ready(w.plan(subsets)); reason != "False ForeignRule" || w.stands("c2", "DestinationRule") != nil {
		t.Errorf("got %s: %s", reason, message)
	}
}

func TestAClusterThatIsLostHoldsNoServiceByARuleThatStoodThere(t *testing.T) {
	for name, leave := range awaits {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3, ruled(foreignRule)), facts(3)})
			w.look()
			w.look()
			leave(w)
			w.link.Leave(t, "c2", w.members["c2"].agent)
			w.readiness("c2", v1alpha1.ReasonAgentSilent)
			if reason, _ := ready(w.look()); reason != "False ForeignRule" {
				t.Errorf("its agent alone is silent, and the rule is forgotten: %s", reason)
			}
			w.readiness("c2", v1alpha1.ReasonContactLost)
			if gs := w.look(); len(gs.Status.Foreign) > 0 {
				t.Errorf("nobody could move its services off it: %v", gs.Status.Foreign)
			}
		})
	}
}

func TestOfMoreRulesThanAStatusNamesEveryMemberHasOne(t *testing.T) {
	many := make([]func(*pb.ServiceFacts), v1alpha1.MaxForeign)
	for i := range many {
		many[i] = ruled(strings.ReplaceAll(foreignRule, "by-hand", fmt.Sprintf("by-hand-%d", i)))
	}
	w := newWorld(t, []*pb.ServiceFacts{facts(3, many...), facts(3, ruled(foreignRule)), facts(3)})
	w.look()
	gs := w.look()
	if n := len(gs.Status.Foreign); n != v1alpha1.MaxForeign || !strings.HasPrefix(gs.Status.Foreign[1], "c2: ") {
		t.Fatalf("%d: %v", n, gs.Status.Foreign)
	}
	w.forgotten("c2")
	w.look()
	w.set("c1", facts(3))
	if reason, message := ready(w.plan(subsets)); reason != "False ForeignRule" || !strings.HasPrefix(message, "c2: ") {
		t.Errorf("got %s: %s", reason, message)
	}
}
