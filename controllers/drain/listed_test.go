// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

func globalEcho() *pb.ServiceFacts {
	return &pb.ServiceFacts{
		Ref: &pb.ServiceRef{Namespace: "demo", Name: "echo"}, Type: "ClusterIP",
		Annotations: map[string]string{v1alpha1.AnnotationGlobal: "true"},
	}
}

// The record of a service is lost in mid-drain: a cluster that still serves it must not be called safe because nobody
// counts the service any more.
func TestAServiceThatNobodyCountsKeepsItsClusterFromBeingSafe(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	plain := globalEcho()
	plain.Ref.Name, plain.Annotations = "plain", nil
	w.link.Join(t, "c2", quietMember(), globalEcho(), plain)
	w.look("c2")
	var gs v1alpha1.GlobalService
	if err := w.hub.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "echo"}, &gs); err != nil {
		t.Fatal(err)
	}
	if err := w.hub.Delete(t.Context(), &gs); err != nil {
		t.Fatal(err)
	}
	d := w.look("c2")
	if safe(d) != "false" || d.Status.Progress != "0/1" || reason(d, "Drained") != "False Moving" {
		t.Errorf("got %+v", d.Status)
	}
	if len(d.Status.Services) != 1 || len(d.Status.Services[0].Blocked) != 1 || !strings.Contains(d.Status.Services[0].Blocked[0].Message, "demo/echo") {
		t.Errorf("it does not say which: %+v", d.Status.Services)
	}
}

func TestAClusterIsNotSafeBeforeItsAgentWasHeard(t *testing.T) {
	cases := map[string][]v1alpha1.GlobalService{"with a service that is drained": threeOf(), "with no service": nil}
	for name, services := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, services, drainObject("c2", "", v1alpha1.OutOfService))
			w.look("c2")
			w.reach("c2")
			d := w.look("c2")
			if safe(d) != "false" || reason(d, "Drained") != "False NotHeard" || d.Status.FinishedAt != nil {
				t.Fatalf("got %+v", d.Status)
			}
			w.link.Join(t, "c2", quietMember())
			if d = w.look("c2"); safe(d) != "true" || d.Status.FinishedAt == nil {
				t.Errorf("when it is heard: %+v", d.Status)
			}
		})
	}
}

func TestAClusterThatIsStillCalledAndFallsSilentDoesNotBecomeSafe(t *testing.T) {
	w := newWorld(t, threeOf(), drainObject("c2", "", v1alpha1.OutOfService))
	busy := quietMember()
	busy.Gateways[0].Load.QuietScrapes = 0
	agent := w.link.Join(t, "c2", busy)
	w.look("c2")
	w.reach("c2")
	if d := w.look("c2"); safe(d) != "false" || reason(d, "Drained") != "True StillCalled" {
		t.Fatalf("got %+v", d.Status)
	}
	w.link.Leave(t, "c2", agent)
	if d := w.look("c2"); safe(d) != "false" {
		t.Errorf("silence was read as quiet: %+v", d.Status)
	}
}
