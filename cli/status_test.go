// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

func conditionsOf(pairs ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, p := range pairs {
		f := strings.SplitN(p, " ", 4)
		out = append(out, metav1.Condition{Type: f[0], Status: metav1.ConditionStatus(f[1]), Reason: f[2], Message: f[3]})
	}
	return out
}

func member1(name, healthy string, istio *v1alpha1.IstioStatus) v1alpha1.Cluster {
	c := *clusterObject(name)
	c.Status = v1alpha1.ClusterStatus{Istio: istio, Conditions: conditionsOf("Ready True Joined weir sees it", healthy)}
	return c
}

// atRest is a fleet of three in which nothing moves.
func atRest() *picture {
	milli := int64(12345)
	proven := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Generation: 3, SeenAt: at(4 * time.Second), Lease: v1alpha1.LeaseHeld}
	gs := v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "echo"}}
	gs.Status = v1alpha1.GlobalServiceStatus{Weights: proven, Shift: v1alpha1.ShiftStatus{Step: "Done"}, Conditions: conditionsOf("Ready True Steered -")}
	for i, name := range []string{"c1", "c2", "c3"} {
		w := int32(333)
		if i == 0 {
			w = 334
		}
		gs.Status.Clusters = append(gs.Status.Clusters, v1alpha1.GlobalServiceClusterStatus{
			Name: name, Replicas: 3, Ready: 3, Sight: v1alpha1.SightSeen, ArrivalsMilliPerSecond: &milli,
			Weight: v1alpha1.WeightStatus{Wanted: w, Written: w, ProvenLow: w, ProvenHigh: w},
		})
	}
	istio := func(proxies, missing int32) *v1alpha1.IstioStatus {
		return &v1alpha1.IstioStatus{Version: "1.31.0", Istiods: []string{"istiod-1"}, ConnectedProxies: proxies, MissingProxyCount: missing}
	}
	return &picture{
		Clusters: []v1alpha1.Cluster{
			member1("c1", "Healthy True Beating heard", istio(12, 0)), member1("c2", "Healthy True Beating heard", istio(8, 2)), member1("c3", "Healthy Unknown ContactLost silent", nil),
		},
		Services: []v1alpha1.GlobalService{gs},
	}
}

// moving is the same fleet in the middle of a drain of c2.
func moving() *picture {
	p := atRest()
	gs := &p.Services[0]
	gs.Spec.Record = &v1alpha1.ShiftRecord{Since: *at(90 * time.Second)}
	lacking := int32(-1)
	gs.Status.SpillHeadroom = &lacking
	gs.Status.Weights = v1alpha1.ProofStatus{Level: v1alpha1.ProofNone, Generation: 4, Missing: []string{"c1/proxy web.demo: behind"}, Unweighted: []string{"c3/gateway istio-ingress"}}
	gs.Status.Shift = v1alpha1.ShiftStatus{Step: "Wait", Blocked: []v1alpha1.Blocker{
		{Code: "WeightsUnproven", Wakes: "ProofArrived", Message: "waiting for web.demo to take the new weights"},
	}, Notices: []v1alpha1.Notice{{Code: "HeadroomLost", Message: "draining c2 leaves 6 replicas where there were 9"}}}
	gs.Status.Clusters[1].Weight = v1alpha1.WeightStatus{Wanted: 0, Written: -1, ProvenLow: 0, ProvenHigh: 333}
	gs.Status.Clusters[1].Fenced, gs.Status.Clusters[1].ArrivalsMilliPerSecond = 1, nil
	gs.Status.Clusters[2].Sight = v1alpha1.SightBlind
	gs.Status.Conditions = conditionsOf("Ready False NotWritten c2: down")
	yes := true
	p.Drains = []v1alpha1.ClusterDrain{
		*drainObject("c2", func(d *v1alpha1.ClusterDrain) { d.Status.Goal, d.Status.Progress = v1alpha1.GoalDrain, "0/1" }),
		*drainObject("c1", func(d *v1alpha1.ClusterDrain) {
			d.Status.Goal, d.Status.Progress, d.Status.SafeToPowerOff = v1alpha1.GoalDrain, "1/1", &yes
		}),
		*drainObject("c3", func(*v1alpha1.ClusterDrain) {}),
	}
	return p
}

// costly is a fleet with something to find in every place that check looks at.
func costly() *picture {
	p := moving()
	p.Clusters[0].Status.Findings = []v1alpha1.ClusterFinding{{Check: "T1", Severity: "Error", Subject: "demo/wild", Message: "a wildcard rule.", Remedy: "Narrow it."}}
	p.Clusters[2].Status.Leaving = &v1alpha1.LeavingStatus{Step: v1alpha1.LeavingCopies, Waiting: []string{"the copy of service shop/web goes"}}
	p.Clusters[1].Status.Istio.MissingProxies = []string{"demo/web-1: starting"}
	p.Services[0].Status.Foreign = []string{"c1: VirtualService demo/by-hand"}
	p.Services[0].Status.Cost = &v1alpha1.ProxyCost{EnvoyClusters: 3, Endpoints: 27, Bytes: 240000}
	p.Policies = []v1alpha1.TrafficPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "p"}, Status: v1alpha1.TrafficPolicyStatus{
		Conditions: conditionsOf("Ready False NotSupported this build does not serve spec.mode: Static"),
	}}}
	return p
}

// passing is a fleet in which one service has just become global, and another one was deleted by hand.
func passing() *picture {
	p := atRest()
	held := p.Services[0].DeepCopy()
	held.Name, held.Status.Conditions = "held", conditionsOf("Ready True DeletionHeld it was deleted, and is kept")
	p.Services[0].Status.Conditions = conditionsOf("Ready Unknown LookingForRules c2: looking for rules")
	p.Services[0].Status.Weights.Unweighted = []string{"c3/gateway istio-ingress"}
	held.Status.Weights.Unweighted = []string{"c3/gateway istio-ingress"}
	p.Services = append(p.Services, *held)
	return p
}

// TestScreensGolden holds what status and check show of fixed pictures.
func TestScreensGolden(t *testing.T) {
	pictures := map[string]func() *picture{"at-rest": atRest, "moving": moving, "costly": costly, "passing": passing, "empty": func() *picture { return &picture{} }}
	datadriven.RunTest(t, "testdata/screens.txt", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		p := pictures[strings.TrimSpace(d.Input)]()
		var out bytes.Buffer
		var err error
		switch d.Cmd {
		case "status":
			err = p.print(&out, now)
		case "check":
			err = printFindings(&out, p.findings())
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.Join(lines, "\n")
	})
}

func (s *shell) with(p *picture) *shell {
	s.Helper()
	for i := range p.Clusters {
		s.put(&p.Clusters[i])
	}
	for i := range p.Services {
		s.put(&p.Services[i])
	}
	for i := range p.Drains {
		s.put(&p.Drains[i])
	}
	for i := range p.Policies {
		s.put(&p.Policies[i])
	}
	return s
}

func TestStatusOfOneServiceAndOfNone(t *testing.T) {
	s := newShell(t).with(moving())
	r := s.run("status", "demo/echo")
	r.want(t, 0, "SERVICE demo/echo", "waiting for web.demo to take the new weights")
	if len(r.hubWrote) > 0 {
		t.Errorf("wrote %v", r.hubWrote)
	}
	s.run("status", "demo/web").want(t, 1, `there is no global service "demo/web"`, "weir.io/global")
	s.run("status", "web").want(t, ExitUsage, `status "web": name it NAMESPACE/NAME`)
}

func TestStatusAsJSONHoldsThePicture(t *testing.T) {
	r := newShell(t).with(moving()).run("status", "-o", "json")
	r.want(t, 0)
	var got struct {
		Clusters []v1alpha1.Cluster       `json:"clusters"`
		Services []v1alpha1.GlobalService `json:"services"`
		Drains   []v1alpha1.ClusterDrain  `json:"drains"`
	}
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil || dec.More() {
		t.Fatalf("%v in\n%s", err, r.out)
	}
	if len(got.Clusters) != 3 || len(got.Services) != 1 || len(got.Drains) != 3 || got.Services[0].Status.Clusters[1].Weight.Written != -1 {
		t.Errorf("got %+v", got)
	}
	if strings.Contains(r.out, "managedFields") {
		t.Error("it holds who wrote which field, which nobody asked for")
	}
}

func TestCheckEndsWithFourWhereSomethingStopsWeir(t *testing.T) {
	healthy := atRest()
	healthy.Clusters = healthy.Clusters[:2]
	cases := map[string]struct {
		picture *picture
		code    int
		says    string
	}{
		"nothing":    {healthy, 0, "0 errors"},
		"something":  {costly(), ExitFindings, "weir is stopped by 4 findings"},
		"no cluster": {&picture{}, ExitFindings, "kubectl weir join"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newShell(t).with(c.picture)
			r := s.run("check")
			r.want(t, c.code, c.says)
			if len(r.hubWrote) > 0 {
				t.Errorf("wrote %v", r.hubWrote)
			}
			r = s.run("check", "-o", "json")
			r.want(t, c.code)
			var got struct{ Findings []finding }
			if err := json.Unmarshal([]byte(r.out), &got); err != nil {
				t.Fatalf("%v in\n%s", err, r.out)
			}
			if (count(got.Findings, "Error") > 0) != (c.code != 0) {
				t.Errorf("got %+v", got.Findings)
			}
		})
	}
}
