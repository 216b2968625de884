// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"strings"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

// settling is a world in which the first rules wait, as they do in a hub.
func settling(t *testing.T, facts ...*pb.ServiceFacts) *world {
	t.Helper()
	w := newWorld(t, facts)
	w.r.settle = settleTime
	w.look()
	return w
}

var subsets = v1alpha1.GlobalServiceSpec{Generation: 1, Phase: v1alpha1.RulesDestinationRules}

func TestARuleThatIsHeardOfAfterItsServiceStopsTheFirstRulesOfWeir(t *testing.T) {
	w := settling(t, facts(3), facts(3))
	gs := w.look()
	if reason, message := ready(gs); reason != "Unknown LookingForRules" || !strings.Contains(message, "c1: looking for rules") || len(gs.Status.Clusters) != 2 {
		t.Errorf("got %s: %s", reason, message)
	}
	w.ahead += settleTime - time.Second
	w.set("c2", facts(3, ruled(foreignRule)))
	if reason, message := ready(w.look()); reason != "False ForeignRule" || !strings.HasPrefix(message, "c2: ") {
		t.Errorf("got %s: %s", reason, message)
	}
	w.ahead += settleTime
	if reason, _ := ready(w.look()); reason != "False ForeignRule" {
		t.Errorf("got %s", reason)
	}
	w.set("c2", facts(3))
	if reason, message := ready(w.look()); reason != "True Steered" {
		t.Errorf("it has settled long since, and got %s: %s", reason, message)
	}
	if writes := w.ruleWrites(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
	if w.plan(subsets); w.stands("c1", "DestinationRule") == nil {
		t.Error("nothing is written at last")
	}
}

func TestAServiceOfOneClusterWaitsForNothing(t *testing.T) {
	w := settling(t, facts(3), nil)
	if reason, _ := ready(w.look()); reason != "True SingleCluster" {
		t.Errorf("got %s", reason)
	}
	w.ahead += settleTime
	w.set("c2", facts(3))
	if reason, message := ready(w.look()); reason != "Unknown LookingForRules" || !strings.HasPrefix(message, "c2: ") {
		t.Errorf("a second one serves it, and it is %s: %s", reason, message)
	}
}

func TestTheFirstRulesInAMemberThatComesLaterWaitThereAlone(t *testing.T) {
	w := settling(t, facts(3), facts(3), nil)
	w.ahead += settleTime
	w.set("c3", standing())
	w.plan(subsets)
	if w.stands("c3", "DestinationRule") == nil {
		t.Fatal("its clients have no subsets")
	}
	w.plan(split(2, map[string]int32{"c1": 500, "c2": 500}))
	if err := w.members["c3"].Store.Delete(t.Context(), w.stands("c3", "VirtualService")); err != nil {
		t.Fatal(err)
	}
	w.set("c3", facts(3)) // Its own Service has become global.
	w.ahead += repeatAfter
	gs := w.look()
	if reason, message := ready(gs); reason != "False NotWritten" || !strings.Contains(message, "c3: looking for rules") || w.stands("c3", "VirtualService") != nil {
		t.Errorf("got %s: %s", reason, message)
	}
	w.ahead += settleTime
	if w.look(); w.stands("c3", "VirtualService") == nil {
		t.Error("nobody else writes there, and its clients have no route")
	}
}

func TestAHubThatBeginsAnewHoldsNoRulesThatStand(t *testing.T) {
	w := settling(t, facts(3), facts(3))
	w.ahead += settleTime
	w.look()
	w.plan(subsets)
	for _, name := range []string{"c1", "c2"} {
		raw, err := w.stands(name, "DestinationRule").MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		w.set(name, facts(3, ruled(string(raw))))
	}
	w.r.heard = nil
	if reason, message := ready(w.look()); reason != "True Steered" {
		t.Errorf("got %s: %s", reason, message)
	}
}

func TestTheFirstRulesInAMemberWaitUntilItsAgentHasToldOfOthers(t *testing.T) {
	for name, had := range map[string]*pb.ServiceFacts{"it had the Service": facts(3), "it had none": nil} {
		t.Run(name, func(t *testing.T) {
			w := settling(t, facts(3), facts(3), had)
			w.look()
			if had != nil {
				w.remove("c3")
			}
			w.link.Leave(t, "c3", w.members["c3"].agent)
			w.r.heard = nil // The hub begins anew, and has not heard c3.
			w.look()
			w.ahead += settleTime
			w.look()
			gs := w.plan(subsets)
			if reason, message := ready(gs); reason != "False NotWritten" || !strings.Contains(message, "c3: its agent has not told") {
				t.Errorf("got %s: %s", reason, message)
			}
			if w.stands("c1", "DestinationRule") == nil || w.stands("c3", "DestinationRule") != nil {
				t.Error("first rules are to stand where their agents have told, and not in c3")
			}
		})
	}
}

func TestAServiceThatSettlesIsLookedAtAgainByItself(t *testing.T) {
	w := settling(t, facts(3), nil)
	gs := w.look()
	gs.Status.Weights.Level = v1alpha1.ProofProven // so that nothing moves
	if err := w.hub.Status().Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	result, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || result.RequeueAfter != lookWhileMoving {
		t.Errorf("%v: %v", result, err)
	}
}
