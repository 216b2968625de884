// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/resview/pb"
)

func TestAnAnnotatedServiceBecomesAGlobalServiceAndIsExported(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(2)})
	w.look() // makes it
	gs := w.look()
	if reason, message := ready(gs); reason != "True Steered" || message != "" {
		t.Errorf("ready: %s %q", reason, message)
	}
	want := []v1alpha1.GlobalServiceClusterStatus{
		{Name: "c1", Replicas: 3, Ready: 3, Sight: v1alpha1.SightSeen, Workloads: []string{"Deployment/echo"}},
		{Name: "c2", Replicas: 2, Ready: 2, Sight: v1alpha1.SightSeen, Workloads: []string{"Deployment/echo"}},
	}
	for i, c := range gs.Status.Clusters {
		c.Weight, c.Quiet, c.InFlight, c.ArrivalsMilliPerSecond = v1alpha1.WeightStatus{}, "", nil, nil
		if d := cmp.Diff(want[i], c); d != "" {
			t.Error(d)
		}
	}
	if !slices.Equal(gs.Status.Hosts, []string{"echo.demo.svc.cluster.local"}) || len(gs.Status.Ports) != 1 || gs.Status.Cost == nil {
		t.Errorf("got %+v", gs.Status)
	}
	for _, name := range []string{"c1", "c2"} {
		if w.stands(name, "ServiceExport") == nil || w.stands(name, "ServiceImport") == nil {
			t.Errorf("%s: no export or no import", name)
		}
	}
	if writes := w.ruleWrites(); len(writes) > 0 {
		t.Errorf("without a plan it wrote %v", writes)
	}
	if !meta.IsStatusConditionTrue(gs.Status.Conditions, v1alpha1.ConditionExported) {
		t.Errorf("conditions %+v", gs.Status.Conditions)
	}
}

func TestAPlanIsWrittenToEveryMemberOnceAndProven(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), nil})
	w.look()
	w.look()
	w.set("c3", standing())
	w.writes()
	gs := w.plan(split(3, map[string]int32{"c1": 500, "c2": 500}))
	for _, name := range []string{"c1", "c2", "c3"} {
		if w.stands(name, "VirtualService") == nil || w.stands(name, "DestinationRule") == nil {
			t.Errorf("%s holds no rules", name)
		}
	}
	var rules []string
	for _, s := range w.ruleWrites() {
		if strings.HasPrefix(s, "c3 ") {
			rules = append(rules, strings.Fields(s)[2])
		}
	}
	if len(rules) != 2 || !strings.Contains(rules[0], "destinationrules") || !strings.Contains(rules[1], "virtualservices") {
		t.Errorf("the subsets come before the routes that name them: %v", rules)
	}
	if c := gs.Status.Clusters[0].Weight; c.Wanted != 500 || c.Written != 500 || c.ProvenLow != 0 || c.ProvenHigh != 1000 {
		t.Errorf("before the proof: %+v", c)
	}
	w.prove("c1", "c2", "c3")
	gs = w.look()
	if c := gs.Status.Clusters[0].Weight; c.ProvenLow != 500 || c.ProvenHigh != 500 || gs.Status.Weights.Level != v1alpha1.ProofProven || gs.Status.Weights.Generation != 3 {
		t.Errorf("after the proof: %+v, %+v", c, gs.Status.Weights)
	}
	w.writes()
	w.r.done = map[string]doneOrder{} // as after a restart
	w.look()
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("it stands, and was written again: %v", writes)
	}
}

func TestWhatIsAboutToBeWrittenIsFirstCountedAsHeld(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 1000, "c2": 0}))
	w.prove("c1", "c2")
	w.look()
	checked := 0
	w.members["c1"].Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodPatch && strings.Contains(r.Path, "virtualservices") {
			checked++
			for _, c := range w.service().Status.Clusters {
				if c.Weight.ProvenLow > 0 && c.Name == "c1" || c.Weight.ProvenHigh < 1000 {
					t.Errorf("while it is written, %s counts as %+v", c.Name, c.Weight)
				}
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: "virtualservices"}, "echo", errors.New("no right"))
		}
		return nil
	})
	gs := w.plan(split(2, map[string]int32{"c1": 0, "c2": 1000}))
	if checked == 0 {
		t.Fatal("nothing was written")
	}
	if c := gs.Status.Clusters[0].Weight; c.Written != -1 || c.ProvenLow != 0 || c.ProvenHigh != 1000 {
		t.Errorf("after it failed: %+v", c)
	}
}

const foreignRule = `{"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"namespace": "demo", "name": "by-hand"},
  "spec": {"hosts": ["echo"], "http": [{"route": [{"destination": {"host": "echo"}}]}]}}`

func TestWhatStopsWeirIsNamedAndNothingIsWritten(t *testing.T) {
	static := &v1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "static"}, Spec: v1alpha1.DefaultTrafficPolicySpec()}
	static.Spec.Mode = v1alpha1.ModeStatic
	good := &v1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "good"}, Spec: v1alpha1.DefaultTrafficPolicySpec()}
	cases := map[string]struct {
		one, two func(*pb.ServiceFacts)
		reason   string
		says     []string
	}{
		"a rule of somebody else":  {ruled(foreignRule), nil, "False ForeignRule", []string{"c1", "demo/by-hand"}},
		"a policy beyond us":       {annotated(v1alpha1.AnnotationTrafficPolicy, "static"), nil, "False NotSupported", []string{"static", "spec.mode: Static"}},
		"a policy that is missing": {annotated(v1alpha1.AnnotationTrafficPolicy, "none"), nil, "False BadAnnotation", []string{`"none"`, "namespace demo"}},
		"two policies": {
			annotated(v1alpha1.AnnotationTrafficPolicy, "good"), annotated(v1alpha1.AnnotationTrafficPolicy, "static"),
			"False BadAnnotation",
			[]string{"to one value in all of them"},
		},
		"nothing": {annotated(v1alpha1.AnnotationTrafficPolicy, "good"), nil, "True Steered", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			two := facts(3)
			if c.two != nil {
				c.two(two)
			}
			w := newWorld(t, []*pb.ServiceFacts{facts(3, c.one), two}, static.DeepCopy(), good.DeepCopy())
			w.look()
			gs := w.look()
			gs = w.plan(gs.Spec)
			reason, message := ready(gs)
			if reason != c.reason {
				t.Errorf("got %s: %s", reason, message)
			}
			for _, s := range c.says {
				if !strings.Contains(message, s) {
					t.Errorf("%q does not say %q", message, s)
				}
			}
			if writes := w.writes(); c.reason != "True Steered" && len(writes) > 0 {
				t.Errorf("wrote %v", writes)
			}
			if len(w.r.targets) > 0 != (c.reason == "True Steered") {
				t.Errorf("the provers are asked for %d services", len(w.r.targets))
			}
			if c.reason == "False ForeignRule" && len(gs.Status.Foreign) != 1 {
				t.Errorf("foreign %v", gs.Status.Foreign)
			}
		})
	}
}

func TestAnEditInWeirsOwnRuleStopsItAndNamesWhoWrote(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	edited := w.stands("c1", "VirtualService")
	routes, _, _ := unstructured.NestedSlice(edited.Object, "spec", "http")
	for _, r := range routes {
		r.(map[string]any)["timeout"] = strings.Repeat("9", 3000) + "s"
	}
	_ = unstructured.SetNestedSlice(edited.Object, routes, "spec", "http")
	edited.SetManagedFields(append(edited.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "networking.istio.io/v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec": {"f:http": {}}}`),
	}))
	raw, err := edited.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	w.set("c1", facts(3, ruled(string(raw))))
	w.writes()
	gs := w.plan(split(2, map[string]int32{"c1": 1000, "c2": 0}))
	reason, message := ready(gs)
	if reason != "False ForeignEdit" || !strings.Contains(message, "kubectl-edit") {
		t.Errorf("got %s: %s", reason, message)
	}
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
	if c := gs.Status.Clusters[1].Weight; c.ProvenHigh < 500 {
		t.Errorf("what stands there may be used still: %+v", c)
	}
}

func TestOneClusterIsNotSteered(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), nil})
	w.look()
	gs := w.look()
	if reason, message := ready(gs); reason != "True SingleCluster" || !strings.Contains(message, "nothing to steer") {
		t.Errorf("got %s: %s", reason, message)
	}
	if writes := w.ruleWrites(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestRulesBeyondTheBudgetAreNotBegunAndThoseThatStandAreLeft(t *testing.T) {
	other := &v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "other"}, Spec: v1alpha1.GlobalServiceSpec{Phase: v1alpha1.RulesWeights}}
	other.Status.Cost = &v1alpha1.ProxyCost{EnvoyClusters: 1999}
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)}, other)
	w.look()
	gs := w.plan(v1alpha1.GlobalServiceSpec{Phase: v1alpha1.RulesNone})
	reason, message := ready(gs)
	if reason != "False BudgetExceeded" || !strings.Contains(message, "budget 2000") || !strings.Contains(message, "clients.namespaces") {
		t.Errorf("got %s: %s", reason, message)
	}
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
	gs = w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if reason, message := ready(gs); reason != "True Steered" {
		t.Errorf("of rules that stand: %s: %s", reason, message)
	}
}

func TestAMemberThatCannotBeWrittenToHoldsUpNoOther(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.look()
	w.members["c2"].Stop()
	gs := w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if w.stands("c1", "VirtualService") == nil {
		t.Error("c1 holds no rules")
	}
	reason, message := ready(gs)
	if reason != "False NotWritten" || !strings.Contains(message, "c2: ") || strings.Contains(message, "c1: ") {
		t.Errorf("got %s: %s", reason, message)
	}
	if gs.Status.Weights.Level != v1alpha1.ProofNone || !strings.HasPrefix(strings.Join(gs.Status.Weights.Missing, ";"), "c1/prover") {
		t.Errorf("proof %+v", gs.Status.Weights)
	}
	for _, c := range gs.Status.Clusters {
		if c.Weight.Written != -1 {
			t.Errorf("%s counts as written: %+v", c.Name, c.Weight)
		}
	}
}

func TestAMemberThatIsNotHeardKeepsItsPlaceAndItsFence(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.look()
	w.plan(split(2, map[string]int32{"c1": 1000, "c2": 0}, "c2"))
	if w.stands("c2", "MutatingAdmissionPolicy") == nil {
		t.Fatal("new pods of c2 do not come up fenced")
	}
	w.link.Leave(t, "c2", w.members["c2"].agent)
	w.ahead = time.Minute // what was done a moment ago is looked at again
	w.writes()
	gs := w.look()
	c := gs.Status.Clusters[1]
	if c.Sight != v1alpha1.SightBlind || c.Ready != 3 {
		t.Errorf("c2 is %+v", c)
	}
	if w.stands("c2", "MutatingAdmissionPolicy") == nil || w.stands("c2", "MutatingAdmissionPolicyBinding") == nil {
		t.Errorf("its agent is not heard, and its fence was opened: %v", w.writes())
	}
	if gs.Status.Fence.Level != v1alpha1.ProofNone || !strings.Contains(strings.Join(gs.Status.Fence.Missing, ";"), "c2/agent: not heard") {
		t.Errorf("fence %+v", gs.Status.Fence)
	}
}

func TestAMemberThatWasDrainedAndIsOffIsLeftOut(t *testing.T) {
	drain := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: "c2"}}
	safe := true
	drain.Status.SafeToPowerOff = &safe
	drain.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDrained, Status: metav1.ConditionTrue, Reason: "SafeToPowerOff", LastTransitionTime: metav1.Now()}}
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), facts(3)}, drain)
	w.look()
	w.look()
	w.plan(split(2, map[string]int32{"c1": 500, "c2": 0, "c3": 500}, "c2"))
	w.link.Leave(t, "c2", w.members["c2"].agent)
	w.members["c2"].Stop()
	w.readiness("c2", v1alpha1.ReasonContactLost)
	w.plan(split(3, map[string]int32{"c1": 600, "c2": 0, "c3": 400}, "c2"))
	w.prove("c1", "c3")
	gs := w.look()
	if reason, message := ready(gs); reason != "True Steered" {
		t.Errorf("got %s: %s", reason, message)
	}
	if gs.Status.Weights.Level != v1alpha1.ProofProven || gs.Status.Clusters[0].Weight.ProvenHigh != 600 {
		t.Errorf("proof %+v, %+v", gs.Status.Weights, gs.Status.Clusters[0].Weight)
	}
}

func TestTheFenceShutsTheEntryFirstAndOpensItFirst(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(2)})
	w.look()
	w.look()
	w.writes()
	w.plan(split(2, map[string]int32{"c1": 1000, "c2": 0}, "c2"))
	order := func() []string {
		var out []string
		for _, s := range w.members["c2"].Writes() {
			for _, what := range []string{"mutatingadmissionpolicies/", "mutatingadmissionpolicybindings/", "/pods/"} {
				if strings.Contains(s, what) {
					out = append(out, strings.Fields(s)[0]+" "+strings.Trim(what, "/"))
				}
			}
		}
		return slices.Compact(out)
	}
	if d := cmp.Diff([]string{"PATCH mutatingadmissionpolicies", "PATCH mutatingadmissionpolicybindings", "PATCH pods"}, order()); d != "" {
		t.Error(d)
	}
	w.set("c2", facts(2, func(f *pb.ServiceFacts) {
		for _, p := range f.Pods {
			p.Fenced, p.FenceGeneration = true, 1
		}
	}))
	gs := w.plan(split(2, map[string]int32{"c1": 1000, "c2": 0}))
	if d := cmp.Diff([]string{"DELETE mutatingadmissionpolicybindings", "DELETE mutatingadmissionpolicies", "PATCH pods"}, order()); d != "" {
		t.Error(d)
	}
	if gs.Status.Clusters[1].Fenced != 2 {
		t.Errorf("c2 is %+v", gs.Status.Clusters[1])
	}
}

func TestAnExportOfTheUsersOwnIsUsedAsItIs(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	theirs := &unstructured.Unstructured{}
	theirs.SetGroupVersionKind(schema.GroupVersionKind{Group: "multicluster.x-k8s.io", Version: "v1beta1", Kind: "ServiceExport"})
	theirs.SetNamespace("demo")
	theirs.SetName("echo")
	if err := w.members["c1"].Store.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.look()
	gs := w.look()
	if !meta.IsStatusConditionTrue(gs.Status.Conditions, v1alpha1.ConditionExported) {
		t.Errorf("conditions %+v", gs.Status.Conditions)
	}
	for _, s := range w.writes() {
		if strings.HasPrefix(s, "c1 ") && strings.Contains(s, "serviceexports") {
			t.Errorf("wrote %s", s)
		}
	}
}

func TestExportsThatFailHoldUpNoRules(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.members["c1"].Fail(func(r fleettest.Request) error {
		if strings.Contains(r.Path, "serviceexports") && r.Method == http.MethodPatch {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "serviceexports"}, "echo", errors.New("no right"))
		}
		return nil
	})
	gs := w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	if reason, message := ready(gs); reason != "True Steered" || w.stands("c1", "VirtualService") == nil {
		t.Errorf("got %s: %s", reason, message)
	}
	c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionExported)
	if c.Status != metav1.ConditionFalse || !strings.HasPrefix(c.Message, "c1: ") {
		t.Errorf("exported %+v", c)
	}
}

func TestAConflictOnTheHubIsTriedAgain(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)})
	w.look()
	w.fail = apierrors.NewConflict(schema.GroupResource{Resource: "globalservices"}, "echo", errors.New("modified"))
	result, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("again after %s, %v", result.RequeueAfter, err)
	}
	w.fail = errors.New("down")
	if _, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err == nil || !strings.Contains(err.Error(), "global service demo/echo") {
		t.Errorf("got %v", err)
	}
}

// A member that makes things up must not keep the status of a service from being written that others serve as well.
func TestWhatAMemberMakesUpIsBounded(t *testing.T) {
	long := strings.Repeat("ü", 500)
	wild := facts(1, func(f *pb.ServiceFacts) {
		f.Ports = append(f.Ports, &pb.Port{Name: "zero"}, &pb.Port{Name: strings.Repeat("n", 200), Port: 81}, &pb.Port{Name: "odd", Port: 82, Protocol: "QUIC"},
			&pb.Port{Name: "app", Port: 83, AppProtocol: strings.Repeat("a", 250)})
		for i := range 150 {
			f.Workloads = append(f.Workloads, &pb.WorkloadFacts{Kind: strings.Repeat("K", 250), Name: fmt.Sprintf("%s-%d", strings.Repeat("w", 240), i/2)})
		}
	})
	w := newWorld(t, []*pb.ServiceFacts{facts(3), wild})
	w.look()
	w.look()
	w.plan(split(1, map[string]int32{"c1": 500, "c2": 500}))
	w.link.Await(t, "c2 was asked", func() bool { return len(w.members["c2"].agent.Targets()) > 0 })
	w.link.Await(t, "c2 has answered", func() bool {
		target := w.members["c2"].agent.Targets()[0] // it may have been asked anew since
		err := w.members["c2"].agent.SetProof(&pb.ProofFacts{Ref: target.GetRef(), Question: target.GetQuestion(), Weights: &pb.Verdict{
			Level: "None", Generation: 1, Missing: []string{long + long[:20]}, MissingCount: 90, Unweighted: []string{long + long[:20]},
			Reasons: []*pb.Missing{{Kind: "Proxy", Subject: long, Message: long}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return len(w.link.Server.Snapshot("c2").Proofs) > 0
	})
	gs := w.look()
	if len(gs.Status.Ports) != 2 || len(gs.Status.Clusters[1].Workloads) > 100 {
		t.Errorf("%d ports, %d workloads", len(gs.Status.Ports), len(gs.Status.Clusters[1].Workloads))
	}
	if p := gs.Status.Weights; p.MissingCount != 92 || len(p.Unweighted) != 1 {
		t.Errorf("%d missing, %d unweighted", p.MissingCount, len(p.Unweighted))
	}
}
