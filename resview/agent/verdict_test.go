// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/mesh/prover/census"
	"github.com/weir-io/weir/mesh/prover/quiet"
	"github.com/weir-io/weir/resview/pb"
)

func TestTargetIsAskedForWhatItsPhaseNeeds(t *testing.T) {
	base := func(phase string) *pb.Target {
		return &pb.Target{
			Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Hosts: []string{"cart.shop.svc.cluster.local"}, Phase: phase,
			Generation: 4, FenceGeneration: 2, Subsets: []string{"weir-c1"}, Active: true,
			Ports: []*pb.Port{{Name: "http", Port: 80}, {Name: "tcp-x", Port: 9000}, {Name: "odd", Port: 81}},
			Fenced: []*pb.FencedAddress{
				{Ip: "10.0.0.1", Network: "n1"}, {Ip: "not an address"}, {Ip: "192.0.2.1", Network: "n2", Gateway: true},
			},
			Open: []*pb.FencedAddress{{Ip: "10.0.0.2"}},
		}
	}
	want := prover.Target{
		Namespace: "shop", Name: "cart", Hosts: []string{"cart.shop.svc.cluster.local"}, FenceGeneration: 2, Active: true,
		Ports:    []prover.Port{{Number: 80, Routed: true}, {Number: 9000}, {Number: 81, Routed: true, Detected: true}},
		Fenced:   []prover.Address{{IP: netip.MustParseAddr("10.0.0.1"), Network: "n1"}},
		Gateways: []prover.Address{{IP: netip.MustParseAddr("192.0.2.1"), Network: "n2"}},
		Served:   []prover.Address{{IP: netip.MustParseAddr("10.0.0.2")}},
		Selector: map[string]string{"app": "cart"},
	}
	selectors := map[prover.Key]map[string]string{cart: {"app": "cart"}}
	for phase, change := range map[string]func(*prover.Target){
		"None":             func(*prover.Target) {},
		"DestinationRules": func(t *prover.Target) { t.Subsets = []string{"weir-c1"} },
		"Weights":          func(t *prover.Target) { t.Subsets = []string{"weir-c1"}; t.Generation = 4 },
	} {
		want := want
		change(&want)
		got := targetsOf([]*pb.Target{base(phase)}, selectors)
		if diff := cmp.Diff([]prover.Target{want}, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("phase %s (-want +got):\n%s", phase, diff)
		}
	}
}

func proven() prover.Proof {
	return prover.Proof{
		Level: prover.LevelProven, Fresh: true, NeedsNewGeneration: true,
		Istiods: []prover.Istiod{{Name: "istiod-1", Push: "12", Concerned: 1, Proxies: []prover.Proxy{{Name: "a.shop", Acked: "12", OK: true}}}},
		Missing: []census.Missing{{Proxy: "b.shop", Reason: census.ReasonStarting}},
		Reasons: []prover.Reason{{Code: prover.ReasonBehind, Subject: "b.shop", Detail: "on istiod x"}, {Code: prover.ReasonHold}},
	}
}

func TestVerdictIsToldWithItsQuestionAndAge(t *testing.T) {
	v := prover.Verdict{At: epoch, Generation: 4, FenceGeneration: 2, Rules: proven(), Weights: proven(), Fence: proven()}
	target := &pb.Target{Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Question: 9, Phase: "Weights", Generation: 4, FenceGeneration: 2}
	told := func(generation int64) *pb.Verdict {
		return &pb.Verdict{
			Generation: generation, Level: "Proven", AgeMs: 1500, NeedsNewGeneration: true, MissingCount: 1, Missing: []string{"b.shop: Starting"},
			Istiods: []*pb.IstiodVerdict{{Name: "istiod-1", Push: "12", ProxyCount: 1, Proxies: []*pb.ProxyVerdict{{Name: "a.shop", Acked: "12", Proven: true}}}},
			Reasons: []*pb.Missing{
				{Kind: "Proxy", Subject: "b.shop", Message: "ProxyBehind, on istiod x"}, {Kind: "Prover", Message: "Holding"},
			},
		}
	}
	want := &pb.ProofFacts{Ref: target.GetRef(), Question: 9, Rules: told(4), Weights: told(4), Fence: told(2)}
	now := epoch.Add(1500 * time.Millisecond)
	if diff := cmp.Diff(want, proofOf(v, target, true, now), protocmp.Transform()); diff != "" {
		t.Errorf("proof (-want +got):\n%s", diff)
	}
	target.Phase = "DestinationRules"
	if got := proofOf(v, target, true, now); got.GetWeights() != nil || got.GetRules() == nil {
		t.Errorf("with rules alone the proof is %v", got)
	}
	target.Phase = "None"
	if got := proofOf(v, target, true, now); got.GetWeights() != nil || got.GetRules() != nil || got.GetFence() == nil {
		t.Errorf("without rules the proof is %v", got)
	}
}

func TestVerdictThatIsNotSettledOrNotFreshProvesNothing(t *testing.T) {
	target := &pb.Target{Question: 9, Phase: "Weights", Generation: 5, FenceGeneration: 3}
	v := prover.Verdict{At: epoch, Rules: proven(), Weights: proven(), Fence: proven()}
	levels := func(settled bool) []string {
		p := proofOf(v, target, settled, epoch)
		if len(p.GetFence().GetReasons()) == 0 {
			t.Error("what stands in the way is not told")
		}
		return []string{p.GetRules().GetLevel(), p.GetWeights().GetLevel(), p.GetFence().GetLevel()}
	}
	if diff := cmp.Diff([]string{"None", "None", "None"}, levels(false)); diff != "" {
		t.Errorf("not settled (-want +got):\n%s", diff)
	}
	v.Weights.Fresh = false
	v.Fence.Level = prover.LevelTimed
	if diff := cmp.Diff([]string{"Proven", "None", "Timed"}, levels(true)); diff != "" {
		t.Errorf("lapsed weights, timed fence (-want +got):\n%s", diff)
	}
}

func TestVerdictOfAHugeMeshFitsTheWire(t *testing.T) {
	p := prover.Proof{Level: prover.LevelNone}
	var istiod prover.Istiod
	for i := range 1000 {
		name := fmt.Sprintf("pod-%d.shop", i)
		istiod.Proxies = append(istiod.Proxies, prover.Proxy{Name: name})
		p.Missing = append(p.Missing, census.Missing{Proxy: name})
		p.Unweighted = append(p.Unweighted, prover.Unweighted{Proxy: name})
		p.Reasons = append(p.Reasons, prover.Reason{Code: prover.ReasonBehind, Subject: name})
	}
	p.Istiods = []prover.Istiod{istiod}
	a := newTestAgent(t, &fakeInventory{}, &fakeProver{})
	target := &pb.Target{Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Phase: "Weights"}
	proof := proofOf(prover.Verdict{Rules: p, Weights: p, Fence: p}, target, true, epoch)
	if err := a.client.SetProof(proof); err != nil {
		t.Errorf("the wire refuses it: %v", err)
	}
	if n := proof.GetFence().GetMissingCount(); n != 1000 {
		t.Errorf("%d missing are counted, want all of them", n)
	}
}

func TestRateIsOfTheLastTwoScrapes(t *testing.T) {
	var r rates
	scrape := func(at time.Duration, arrivals uint64) *pb.Load {
		v := prover.Verdict{Quiet: []quiet.Pod{{Namespace: "shop", Name: "cart-1", State: quiet.StateTwice, Arrivals: arrivals, InFlight: 3, InFlightKnown: true, At: epoch.Add(at)}}}
		return r.loads(map[prover.Key]prover.Verdict{cart: v}, epoch.Add(at+time.Second))["shop/cart-1"]
	}
	for _, step := range []struct {
		at       time.Duration
		arrivals uint64
		rate     *float64
	}{{0, 100, nil}, {2 * time.Second, 120, new(10.0)}, {2 * time.Second, 120, new(10.0)}, {3 * time.Second, 120, new(0.0)}, {4 * time.Second, 5, nil}} {
		want := &pb.Load{Measured: true, Arrivals: step.arrivals, InFlight: 3, QuietScrapes: 2, IdleSeconds: new(uint32(0)), AgeMs: 1000, Rate: step.rate}
		if diff := cmp.Diff(want, scrape(step.at, step.arrivals), protocmp.Transform()); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", step.at, diff)
		}
	}
	if got := r.loads(nil, epoch); len(got) != 0 || len(r.last) != 0 {
		t.Errorf("loads of what is measured no more: %v", got)
	}
}

func TestHowLongAPodHasIdledIsToldUpToWhereItMakesNoDifference(t *testing.T) {
	for idle, want := range map[time.Duration]*uint32{0: new(uint32(0)), 5900 * time.Millisecond: new(uint32(5)), time.Hour: new(uint32(10)), -time.Second: new(uint32(0))} {
		p := quiet.Pod{State: quiet.StateTwice, InFlightKnown: true, At: epoch, IdleSince: epoch.Add(-idle)}
		if got := loadOf(p, nil, epoch).IdleSeconds; got == nil || *got != *want {
			t.Errorf("%s: got %v, want %d", idle, got, *want)
		}
	}
	if got := loadOf(quiet.Pod{State: quiet.StateTwice, At: epoch}, nil, epoch).IdleSeconds; got != nil {
		t.Errorf("nobody knows what is in flight, and %d are told", *got)
	}
}

func TestGatewaysAreMeasuredOnceEach(t *testing.T) {
	gateway := func(name, gw string) census.Pod {
		return census.Pod{Namespace: "istio-ingress", Name: name, Kind: census.KindGateway, Labels: map[string]string{gatewayLabel: gw}}
	}
	got := gatewayTargets([]census.Pod{
		gateway("a-1", "a"), gateway("a-2", "a"), gateway("b-1", "b"), gateway("nameless", ""),
		{Namespace: "shop", Name: "cart-1", Kind: census.KindSidecar, Labels: map[string]string{gatewayLabel: "cart"}},
	}, true)
	want := []prover.Target{
		{Namespace: "istio-ingress", Name: "gateway:a", Active: true, Selector: map[string]string{gatewayLabel: "a"}},
		{Namespace: "istio-ingress", Name: "gateway:b", Active: true, Selector: map[string]string{gatewayLabel: "b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func TestMemberIsToldWhichIstiodsAndProxiesAreOut(t *testing.T) {
	member := &pb.MemberFacts{Istiods: []*pb.Istiod{{Name: "istiod-1", Uid: "u1"}, {Name: "istiod-2", Uid: "u2"}}}
	verdicts := map[prover.Key]prover.Verdict{cart: {Fence: prover.Proof{
		Istiods: []prover.Istiod{{UID: "u1", Reason: prover.ReasonStaleReplica}, {UID: "u2", Reason: prover.ReasonUnreachable}},
		Missing: []census.Missing{{Proxy: "b.shop", Reason: census.ReasonDisconnected}},
	}}}
	got := withEvidence(member, verdicts)
	want := &pb.MemberFacts{
		Istiods:        []*pb.Istiod{{Name: "istiod-1", Uid: "u1"}, {Name: "istiod-2", Uid: "u2", Error: "IstiodUnreachable"}},
		MissingProxies: []string{"b.shop: Disconnected"}, MissingCount: 1,
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("member (-want +got):\n%s", diff)
	}
	if member.GetIstiods()[1].GetError() != "" || withEvidence(member, nil) != member {
		t.Error("what was given was changed, or copied for nothing")
	}
}
