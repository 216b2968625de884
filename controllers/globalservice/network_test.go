// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/istio"
)

// apart is a member on a network of its own, heard or, after the hub has started again, known from its status alone.
func apart(name string, heard bool) memberView {
	m := viewed(name, facts(2))
	m.mesh, m.seen, m.whole = true, heard, heard
	m.member.Network = "net-" + name
	m.member.Gateways = append(m.member.Gateways, gateway("172.16.0."+name[1:]))
	if !heard {
		m.cluster.Status.Istio = &v1alpha1.IstioStatus{
			Network: m.member.GetNetwork(), Gateways: []v1alpha1.EastWestGateway{{Name: "istio-system/east-west", Addresses: []string{"172.16.0." + name[1:]}}},
		}
		m.facts, m.member = nil, nil
	}
	return m
}

// A hub starts while one member is off: what stands in the others must be rendered as it was, or nothing could be moved
// among them.
func TestRulesAcrossNetworksAreTheSameWhileAMemberIsOff(t *testing.T) {
	spec := split(7, map[string]int32{"c1": 400, "c2": 200, "c3": 400})
	render := func(heard bool, config string) (istio.Rules, []istio.Reason) {
		gs := &v1alpha1.GlobalService{Spec: spec}
		for _, c := range spec.Clusters {
			gs.Status.Clusters = append(gs.Status.Clusters, v1alpha1.GlobalServiceClusterStatus{Name: c.Name, Weight: v1alpha1.WeightStatus{Wanted: c.Weight}})
		}
		in := &input{key: key, service: gs, members: []memberView{apart("c1", true), apart("c2", heard), apart("c3", true)}}
		for _, m := range in.members {
			if m.name == config {
				return istio.Render(renderInput(in, spec, v1alpha1.DefaultTrafficPolicySpec(), portsOf(in), m))
			}
		}
		return istio.Rules{}, nil
	}
	for _, config := range []string{"c1", "c2", "c3"} {
		before, reasons := render(true, config)
		if istio.Blocked(reasons) || len(before.VirtualServices) == 0 {
			t.Fatalf("%s: %v", config, reasons)
		}
		after, reasons := render(false, config)
		if istio.Blocked(reasons) {
			t.Errorf("%s: %v", config, reasons)
		}
		if d := cmp.Diff(before, after); d != "" {
			t.Errorf("%s:\n%s", config, d)
		}
	}
}

func TestTheGatewaysOfAMemberThatIsOffStayClosed(t *testing.T) {
	if got := gatewaysOf(apart("c2", false)); len(got) != 1 || got[0].GetIp() != "172.16.0.2" || got[0].GetNetwork() != "net-c2" || !got[0].GetGateway() {
		t.Errorf("got %v", got)
	}
	if got := gatewaysOf(memberOf("c9", nil)); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
