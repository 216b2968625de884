// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

var (
	now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	key = types.NamespacedName{Namespace: "demo", Name: "echo"}
)

func memberOf(name string, proof *pb.ProofFacts) memberView {
	return memberView{
		name: name, cluster: &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}},
		proof: proof, proofAt: now.Add(-2 * time.Second), seen: true, whole: true, mesh: true,
	}
}

func proven(generation int64) *pb.ProofFacts {
	return &pb.ProofFacts{Weights: &pb.Verdict{
		Generation: generation, Level: "Proven", AgeMs: 1000,
		Istiods: []*pb.IstiodVerdict{{Name: "istiod-1", Push: "7", ProxyCount: 1, Proxies: []*pb.ProxyVerdict{{Name: "web.demo", Acked: "7", Proven: true}}}},
	}}
}

func TestAProofIsAsGoodAsTheWorstMember(t *testing.T) {
	behind := &pb.ProofFacts{Weights: &pb.Verdict{
		Generation: 3, Level: "None",
		Reasons: []*pb.Missing{{Kind: "Proxy", Subject: "web-2.demo", Message: "ProxyBehind"}},
	}}
	silent := memberOf("c2", proven(3))
	silent.seen = false
	away := memberOf("c2", nil)
	away.seen, away.away = false, true
	lapsed := proven(3)
	lapsed.Weights.NeedsNewGeneration = true
	cases := map[string]struct {
		members []memberView
		failed  map[string]error
		level   v1alpha1.ProofLevel
		missing string
		lease   v1alpha1.LeaseState
	}{
		"all proven":                   {[]memberView{memberOf("c1", proven(3)), memberOf("c2", proven(3))}, nil, v1alpha1.ProofProven, "", v1alpha1.LeaseHeld},
		"one proxy behind":             {[]memberView{memberOf("c1", proven(3)), memberOf("c2", behind)}, nil, v1alpha1.ProofNone, "c2/proxy web-2.demo: ProxyBehind", v1alpha1.LeaseHeld},
		"one of an older generation":   {[]memberView{memberOf("c1", proven(3)), memberOf("c2", proven(2))}, nil, v1alpha1.ProofNone, "c2/prover: has not told yet whether its proxies hold generation 3", v1alpha1.LeaseHeld},
		"one not heard":                {[]memberView{memberOf("c1", proven(3)), silent}, nil, v1alpha1.ProofNone, "c2/agent: not heard", v1alpha1.LeaseHeld},
		"one switched off after all":   {[]memberView{memberOf("c1", proven(3)), away}, nil, v1alpha1.ProofProven, "", v1alpha1.LeaseHeld},
		"one not written":              {[]memberView{memberOf("c1", proven(3)), memberOf("c2", proven(3))}, map[string]error{"c2": errors.New("down")}, v1alpha1.ProofNone, "c2/api server: down", v1alpha1.LeaseHeld},
		"an istiod was replaced":       {[]memberView{memberOf("c1", proven(3)), memberOf("c2", lapsed)}, nil, v1alpha1.ProofProven, "", v1alpha1.LeaseLapsed},
		"nobody runs an istiod at all": {nil, nil, v1alpha1.ProofNone, "no member with an istiod is known", v1alpha1.LeaseHeld},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := &input{key: key, now: now, members: c.members}
			got := fold(in, (*pb.ProofFacts).GetWeights, 3, c.failed)
			if got.Level != c.level || got.Lease != c.lease || strings.Join(got.Missing, ";") != c.missing {
				t.Errorf("got %s, %s, %q", got.Level, got.Lease, got.Missing)
			}
			if answered := c.missing == "" || strings.Contains(c.missing, "proxy "); (got.SeenAt == nil) == answered {
				t.Errorf("seenAt is %v with %q missing", got.SeenAt, c.missing)
			}
		})
	}
}

func TestAProofIsAsOldAsItsOldestEvidence(t *testing.T) {
	old := memberOf("c2", proven(3))
	old.proofAt = now.Add(-9 * time.Second)
	got := fold(&input{now: now, members: []memberView{memberOf("c1", proven(3)), old}}, (*pb.ProofFacts).GetWeights, 3, nil)
	if want := now.Add(-10 * time.Second); !got.SeenAt.Time.Equal(want) {
		t.Errorf("seen at %s, want %s", got.SeenAt, want)
	}
}

func TestAWeightCountsAsHeldUntilItIsProvenGone(t *testing.T) {
	none, all := v1alpha1.ProofStatus{Level: v1alpha1.ProofNone}, v1alpha1.ProofStatus{Level: v1alpha1.ProofProven}
	old := v1alpha1.WeightStatus{Wanted: 500, Written: 500, ProvenLow: 500, ProvenHigh: 500}
	w := weightOf(old, 0, v1alpha1.RulesWeights, none, true)
	if w.ProvenLow != 0 || w.ProvenHigh != 500 || w.Written != 0 {
		t.Errorf("after the write: %+v", w)
	}
	if w = weightOf(w, 0, v1alpha1.RulesWeights, all, true); w.ProvenHigh != 0 {
		t.Errorf("after the proof: %+v", w)
	}
	if w = weightOf(old, 0, v1alpha1.RulesWeights, all, false); w.ProvenHigh != 500 || w.Written != -1 {
		t.Errorf("a proof without a write narrows nothing: %+v", w)
	}
	if w = weightOf(old, 0, v1alpha1.RulesDestinationRules, all, true); w.ProvenHigh != 1000 {
		t.Errorf("without a route of ours any share may be used: %+v", w)
	}
}

func pod(name string, ready, fenced bool, rate float64, generation int64) *pb.Pod {
	return &pb.Pod{Name: name, Uid: name, Ready: ready, Fenced: fenced, FenceGeneration: generation, Load: &pb.Load{Measured: true, Rate: &rate}}
}

func TestTheFenceTakesTheIdlestPodsFirstAndKeepsThoseItHas(t *testing.T) {
	facts := &pb.ServiceFacts{Pods: []*pb.Pod{pod("a", true, false, 9, 0), pod("b", true, true, 5, 2), pod("c", true, false, 1, 0), pod("d", false, false, 0, 0)}}
	names := func(labels []podLabel) string {
		var out []string
		for _, l := range labels {
			if l.key == LabelFence {
				out = append(out, l.name+"="+l.value)
			}
		}
		return strings.Join(out, " ")
	}
	cases := map[string]struct {
		plan v1alpha1.GlobalServiceCluster
		want string
	}{
		"one":   {v1alpha1.GlobalServiceCluster{FencedPods: 1, NewPods: v1alpha1.PodsFenced}, ""},
		"two":   {v1alpha1.GlobalServiceCluster{FencedPods: 2, NewPods: v1alpha1.PodsFenced}, "c=true"},
		"whole": {v1alpha1.GlobalServiceCluster{FencedPods: 3, NewPods: v1alpha1.PodsFenced}, "d=true c=true a=true"},
		"none":  {v1alpha1.GlobalServiceCluster{FencedPods: 0}, "b="},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := names(fenceOf(facts, c.plan, 2, voices{})); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAFenceIsLabelledAnewForANewGeneration(t *testing.T) {
	facts := &pb.ServiceFacts{Pods: []*pb.Pod{pod("a", true, true, 0, 2)}}
	plan := v1alpha1.GlobalServiceCluster{FencedPods: 1, NewPods: v1alpha1.PodsFenced}
	if got := fenceOf(facts, plan, 2, voices{}); len(got) != 0 {
		t.Errorf("nothing to do, got %v", got)
	}
	got := fenceOf(facts, plan, 3, voices{})
	if len(got) != 2 || got[1].key != LabelFenceGeneration || got[1].value != "3" {
		t.Errorf("got %v", got)
	}
}

func TestAMemberThatIsNotHeardKeepsItsNumbersAndIsBlind(t *testing.T) {
	c := v1alpha1.GlobalServiceClusterStatus{Name: "c2", Ready: 3, Replicas: 3}
	m := memberOf("c2", nil)
	m.seen = false
	observe(&c, m, now)
	if c.Ready != 3 || c.Sight != v1alpha1.SightBlind {
		t.Errorf("got %+v", c)
	}
	m.seen = true
	observe(&c, m, now)
	if c.Ready != 0 || c.Sight != v1alpha1.SightSeen {
		t.Errorf("a member that is heard and has no such Service: %+v", c)
	}
}

// told is a member's view of what was told a second ago, and now.
func told(facts *pb.ServiceFacts) (memberView, time.Time) {
	now := time.Now()
	return memberView{facts: facts, since: now.Add(-time.Second)}, now
}

func TestARateIsToldOnlyWhenEveryPodWasLookedAtTwice(t *testing.T) {
	looked := func(rate *float64) *pb.Pod {
		return &pb.Pod{Name: "a", Ip: "10.1.0.1", Ready: true, Load: &pb.Load{Measured: true, Rate: rate}}
	}
	if _, _, rate := loadOf(told(&pb.ServiceFacts{Pods: []*pb.Pod{looked(new(2.5)), looked(nil)}})); rate != nil {
		t.Errorf("after one look at one of them: %d", *rate)
	}
	if _, _, rate := loadOf(told(&pb.ServiceFacts{Pods: []*pb.Pod{looked(new(2.5)), {Name: "b", Ip: "10.1.0.2"}}})); rate != nil {
		t.Errorf("with a pod that nobody looks at: %d", *rate)
	}
	if _, _, rate := loadOf(told(&pb.ServiceFacts{Pods: []*pb.Pod{looked(new(2.5)), looked(new(0.0))}})); rate == nil || *rate != 2500 {
		t.Errorf("after two looks at each: %v", rate)
	}
}

func TestQuietIsThatOfTheBusiestFencedPod(t *testing.T) {
	quietPod := func(name string, scrapes uint32, measured bool) *pb.Pod {
		return &pb.Pod{Name: name, Ip: "10.1.0.1", Ready: true, Fenced: true, Load: &pb.Load{Measured: measured, QuietScrapes: scrapes, InFlight: 1}}
	}
	cases := map[string]struct {
		pods []*pb.Pod
		want v1alpha1.QuietState
	}{
		"all quiet":        {[]*pb.Pod{quietPod("a", 2, true), quietPod("b", 5, true)}, v1alpha1.QuietQuiet},
		"one only once":    {[]*pb.Pod{quietPod("a", 2, true), quietPod("b", 1, true)}, v1alpha1.QuietOnce},
		"one busy":         {[]*pb.Pod{quietPod("a", 2, true), quietPod("b", 0, true)}, v1alpha1.QuietBusy},
		"one not measured": {[]*pb.Pod{quietPod("a", 2, true), quietPod("b", 2, false)}, v1alpha1.QuietNotMeasured},
		"one without room": {[]*pb.Pod{quietPod("a", 2, true), {Name: "b", Fenced: true}}, v1alpha1.QuietQuiet},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state, inFlight, _ := loadOf(told(&pb.ServiceFacts{Pods: c.pods}))
			if state != c.want {
				t.Errorf("got %s", state)
			}
			if (inFlight == nil) != (c.want == v1alpha1.QuietNotMeasured) {
				t.Errorf("in flight is %v", inFlight)
			}
		})
	}
}

func TestNoCutOfTheListHidesThatMoreThanProxiesAreMissing(t *testing.T) {
	many := &pb.ProofFacts{Weights: &pb.Verdict{Generation: 3, Level: "None"}}
	for range 2 * v1alpha1.MaxMissing {
		many.Weights.Reasons = append(many.Weights.Reasons, &pb.Missing{Kind: "Proxy", Subject: "web.demo", Message: "ProxyBehind"})
	}
	silent := memberOf("c2", nil)
	silent.seen = false
	got := fold(&input{key: key, now: now, members: []memberView{memberOf("c1", many), silent}}, (*pb.ProofFacts).GetWeights, 3, nil)
	if len(got.Missing) != v1alpha1.MaxMissing || got.Missing[0] != "c2/agent: not heard" {
		t.Errorf("%d lines, the first is %q", len(got.Missing), got.Missing[0])
	}
}
