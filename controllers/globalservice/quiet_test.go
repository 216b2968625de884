// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
)

// runs is a pod that runs, fenced or not, has been quiet, and idle for some seconds; below 0: nobody tells for how long.
func runs(fenced bool, idle int) *pb.Pod {
	p := &pb.Pod{Name: "a", Ip: "10.1.0.1", Ready: true, Fenced: fenced, Load: &pb.Load{Measured: true, QuietScrapes: 2}}
	if idle >= 0 {
		p.Load.IdleSeconds = new(uint32(idle))
	}
	return p
}

// A connection that a gateway gave to a pod stays there, fenced or not, until it has carried nothing for five seconds.
func TestAFencedPodThatOtherNetworksCallIsQuietOnlyWhenNoConnectionIsLeft(t *testing.T) {
	here := func(network string) memberView {
		return memberView{name: network, member: &pb.MemberFacts{Network: network}}
	}
	busy := runs(true, 0)
	busy.Load.QuietScrapes = 0
	for name, c := range map[string]struct {
		other  memberView
		pods   []*pb.Pod
		shared []string
		want   v1alpha1.QuietState
	}{
		"one network":                              {here("a"), []*pb.Pod{runs(true, 1), runs(false, 0)}, nil, v1alpha1.QuietQuiet},
		"another network, too short":               {here("b"), []*pb.Pod{runs(true, 5), runs(false, 0)}, nil, v1alpha1.QuietOnce},
		"another network, long enough":             {here("b"), []*pb.Pod{runs(true, 6), runs(false, 0)}, nil, v1alpha1.QuietQuiet},
		"another network, and something new":       {here("b"), []*pb.Pod{busy, runs(false, 0)}, nil, v1alpha1.QuietBusy},
		"another network, one of two":              {here("b"), []*pb.Pod{runs(true, 9), runs(true, 2), runs(false, 0)}, nil, v1alpha1.QuietOnce},
		"another network, an agent of before":      {here("b"), []*pb.Pod{runs(true, -1), runs(false, 0)}, nil, v1alpha1.QuietQuiet},
		"another network, all pods fenced":         {here("b"), []*pb.Pod{runs(true, 1)}, nil, v1alpha1.QuietQuiet},
		"another network, all fenced and shared":   {here("b"), []*pb.Pod{runs(true, 1)}, []string{"other"}, v1alpha1.QuietOnce},
		"another network, of one that has left":    {memberView{name: "b", left: true, cluster: &v1alpha1.Cluster{}}, []*pb.Pod{runs(true, 1), runs(false, 0)}, nil, v1alpha1.QuietQuiet},
		"another network, and of none a pod ended": {here("b"), []*pb.Pod{runs(true, 1), {Name: "b", Ip: "10.1.0.2", Terminating: true}}, nil, v1alpha1.QuietQuiet},
	} {
		t.Run(name, func(t *testing.T) {
			in := &input{members: []memberView{here("a"), c.other}}
			in.markAcross()
			m, now := told(&pb.ServiceFacts{Pods: c.pods})
			m.across, m.shared.with = in.members[0].across, c.shared
			if got, _, _ := loadOf(m, now); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestQuietAcrossNetworksOutlastsWhatProxiesKeep(t *testing.T) {
	if kept := istio.DefaultReflex().IdleAcrossNetworks; idleAcrossNetworks*time.Second <= kept {
		t.Errorf("a pod is quiet after %ds, and proxies keep connections for %s", idleAcrossNetworks, kept)
	}
}
