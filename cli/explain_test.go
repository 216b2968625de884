// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// strictly reads one document, and refuses a field that the type does not have.
func strictly(t *testing.T, text string, into any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil || dec.More() {
		t.Fatalf("%v in\n%s", err, text)
	}
}

func TestExplainFindsAWorkloadByEachOfItsNames(t *testing.T) {
	s := newShell(t, wish()).store(federated())
	for args, says := range map[string]string{
		"explain fdep shop/api":                              "FederatedDeployment shop/api",
		"explain FederatedDeployments shop/api":              "workload shop/api, 9 replicas wanted",
		"explain rb shop/deployment-api":                     "ResourceBinding shop/deployment-api",
		"explain gsvc shop/api":                              "TRAFFIC TO",
		"explain globalservice shop/api -o json":             `"binding": "shop/deployment-api"`,
		"explain resourcebinding shop/deployment-api":        "c2: left out, Drained: it is being taken out of service",
		"explain federateddeployment shop/api --output=json": `"trigger": "Drain"`,
	} {
		r := s.run(strings.Fields(args)...)
		r.want(t, 0, says)
		if len(r.hubWrote) > 0 {
			t.Errorf("%s wrote %v", args, r.hubWrote)
		}
	}
	s.run("explain", "fdep", "shop/web").want(t, 1, "there is no FederatedDeployment shop/web on this hub", "kubectl get fdep -A")
	s.run("explain", "rb", "shop/api").want(t, 1, "there is no ResourceBinding shop/api", "kubectl get rb -A")
	s.run("explain", "gsvc", "shop/web").want(t, 1, "there is no GlobalService shop/web", "kubectl get gsvc -A")
}

func TestAWorkloadThatWeirHasNotTakenUpYetIsSaidToBeSo(t *testing.T) {
	newShell(t, wish()).run("explain", "fdep", "shop/api").want(t, 0, "weir has not taken it up yet", "deployment-api", "see its conditions")
}

func TestAWorkloadThatWeirCannotTakeUpSaysWhy(t *testing.T) {
	d := wish()
	d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: d.Generation, Reason: v1alpha1.ReasonInvalidTemplate, Message: "spec.template: unknown field imge"}}
	r := newShell(t, d).run("explain", "fdep", "shop/api")
	r.want(t, 0, "it has no ResourceBinding deployment-api\n", "Ready=False (InvalidTemplate): spec.template: unknown field imge\n")
	d.Generation++
	newShell(t, d).run("explain", "fdep", "shop/api").want(t, 0, "that is of generation 3, and it has changed since")
}

func TestAServiceOfPlainWorkloadsSaysThatNobodyDividesThem(t *testing.T) {
	newShell(t).with(atRest()).run("explain", "gsvc", "demo/echo").want(t, 0, "weir divides no workload behind it")
}

func TestNoMembersOldNumbersPassForPresentOnes(t *testing.T) {
	f := federated()
	w := explainWorkload(f, &f.bindings[0], wish(), now)
	c3 := w.Clusters[2]
	if c3.Applied != nil || c3.Ready != nil || c3.Sync != "" || c3.LastSeen == nil || *c3.LastSeen.AgeSeconds != 600 || !strings.HasPrefix(c3.View.State, "Unknown") {
		t.Errorf("explain: %+v", c3)
	}
	shown := topOf(f, "", now)
	if c := shown.Clusters[2]; c.View != nil || c.LastKnown == nil || c.LastKnown.AgeSeconds != 600 || c.State != stateUnknown {
		t.Errorf("top: %+v", c)
	}
	if s := shown.Services[0].Clusters[2]; s.Ready != nil || s.InFlight != nil || s.ArrivalsMilliPerSecond != nil || s.State != stateUnknown {
		t.Errorf("top, its service: %+v", s)
	}
	if g := shown.Groups[0]; g.Nodes != 9 || len(g.Unknown) != 1 {
		t.Errorf("the sum: %+v", g)
	}
}

// A hub that does not run renews nothing, and its conditions stay as they were.
func TestWhatAHubThatDoesNotRunSaidLastIsUnknown(t *testing.T) {
	f := federated()
	later := now.Add(time.Hour)
	for _, c := range topOf(f, "", later).Clusters {
		if c.State != stateUnknown || c.View != nil {
			t.Errorf("top: %+v", c)
		}
	}
	for _, c := range explainWorkload(f, &f.bindings[0], wish(), later).Clusters {
		if c.Applied != nil || c.Ready != nil {
			t.Errorf("explain: %+v", c)
		}
	}
	for _, c := range trafficOf(f, &f.services[0], later) {
		if c.Ready != nil || c.State != stateUnknown {
			t.Errorf("explain, its service: %+v", c)
		}
	}
}

func TestEveryMemberWithoutAReplicaHasAReason(t *testing.T) {
	bare := func(change func(*fleet, *v1alpha1.DecisionRecord)) (*fleet, *v1alpha1.ResourceBinding) {
		f := federated()
		b := &f.bindings[0]
		record := &b.Status.History[1]
		record.Reasons, record.ReasonCount = nil, 0
		change(f, record)
		return f, b
	}
	for name, c := range map[string]struct {
		change func(*fleet, *v1alpha1.DecisionRecord)
		code   string
	}{
		"none was kept": {func(_ *fleet, r *v1alpha1.DecisionRecord) { r.ReasonCount = 60 }, "NotKept"},
		"it is not ready": {func(f *fleet, _ *v1alpha1.DecisionRecord) {
			f.clusters[1].Status.Conditions[0].Status = metav1.ConditionFalse
		}, "NotReady"},
		"it is registered no more": {func(f *fleet, _ *v1alpha1.DecisionRecord) { f.clusters = f.clusters[:1] }, "NotRegistered"},
		"it joined since":          {func(f *fleet, _ *v1alpha1.DecisionRecord) { f.clusters[1].CreationTimestamp = *at(time.Second) }, "JoinedSince"},
		"none was given":           {func(*fleet, *v1alpha1.DecisionRecord) {}, "NoneGiven"},
	} {
		t.Run(name, func(t *testing.T) {
			f, b := bare(c.change)
			for _, x := range explainWorkload(f, b, wish(), now).Clusters {
				if x.Decided == 0 && len(x.Reasons) == 0 {
					t.Errorf("%s has none", x.Name)
				}
				if x.Name == "c2" && x.Reasons[0].Code != c.code {
					t.Errorf("c2: %+v", x.Reasons)
				}
			}
		})
	}
}

func TestTheDocumentsOfTopAndExplainHoldWhatTheirTypesSay(t *testing.T) {
	s := newShell(t, wish()).store(federated())
	var shown top
	r := s.run("top", "-o", "json", "--by", "zone")
	r.want(t, 0)
	strictly(t, r.out, &shown)
	if len(shown.Clusters) != 4 || len(shown.Services) != 1 {
		t.Errorf("got %+v", shown)
	}
	var e explanation
	r = s.run("explain", "gsvc", "shop/api", "-o", "json")
	r.want(t, 0)
	strictly(t, r.out, &e)
	if len(e.Workloads) != 1 || len(e.Workloads[0].Clusters) != 5 || len(e.Traffic) != 3 || len(e.Workloads[0].Waiting) != 1 || len(e.Workloads[0].Notices) != 1 {
		t.Errorf("got %+v", e)
	}
	newShell(t).run("top").want(t, 0, "no cluster is registered: kubectl weir join")
}

func TestWhatNoMemberCanBeSummedUpByIsRefusedWithWhatTheyCan(t *testing.T) {
	f := federated()
	f.clusters[1].Labels = map[string]string{"example.com/tier": "gold", "example.com/rack": "7"}
	s := newShell(t).store(f)
	r := s.run("top", "--by", "regoin")
	r.want(t, ExitUsage, `--by "regoin": no Cluster has a label of that name; give one of region, zone, example.com/rack, example.com/tier`)
	if r.out != "" {
		t.Errorf("it printed %q", r.out)
	}
	s.run("top", "--by", "example.com/tier").want(t, 0, "gold")
	newShell(t).run("top", "--by", "example.com/tier").want(t, 0, "no cluster is registered")
}

func TestReplicasWithoutEndTakeNoTimeToSumUp(t *testing.T) {
	f := federated()
	f.bindings[0].Spec.Clusters[0].Replicas = 1<<31 - 1
	a := topOf(f, "", now).Clusters[0].View.Resources["cpu"]
	if a.Reserved.Value() < 1<<29 {
		t.Errorf("got %s", a.Reserved.String())
	}
}
