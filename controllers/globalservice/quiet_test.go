// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"testing"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

// runs is a pod that runs, fenced or not, with so many quiet scrapes.
func runs(fenced bool, scrapes uint32) *pb.Pod {
	return &pb.Pod{Name: "a", Ip: "10.1.0.1", Ready: true, Fenced: fenced, Load: &pb.Load{Measured: true, QuietScrapes: scrapes}}
}

// A connection that a gateway gave to a pod stays there, fenced or not, until it has carried nothing for five seconds.
func TestAFencedPodThatOtherNetworksCallIsQuietOnlyWhenNoConnectionIsLeft(t *testing.T) {
	here := func(network string) memberView { return memberView{name: network, member: &pb.MemberFacts{Network: network}} }
	for name, c := range map[string]struct {
		others []memberView
		pods   []*pb.Pod
		want   v1alpha1.QuietState
	}{
		"one network":                        {[]memberView{here("a")}, []*pb.Pod{runs(true, 2), runs(false, 0)}, v1alpha1.QuietQuiet},
		"another network, too short":         {[]memberView{here("b")}, []*pb.Pod{runs(true, 6), runs(false, 0)}, v1alpha1.QuietOnce},
		"another network, long enough":       {[]memberView{here("b")}, []*pb.Pod{runs(true, 7), runs(false, 0)}, v1alpha1.QuietQuiet},
		"another network, and something new": {[]memberView{here("b")}, []*pb.Pod{runs(true, 0), runs(false, 0)}, v1alpha1.QuietBusy},
		"another network, one of two":        {[]memberView{here("b")}, []*pb.Pod{runs(true, 9), runs(true, 2), runs(false, 0)}, v1alpha1.QuietOnce},
		"another network, all pods fenced":   {[]memberView{here("b")}, []*pb.Pod{runs(true, 2)}, v1alpha1.QuietQuiet},
		"another network, of one that left":  {[]memberView{{name: "b", left: true, cluster: &v1alpha1.Cluster{}}}, []*pb.Pod{runs(true, 2), runs(false, 0)}, v1alpha1.QuietQuiet},
	} {
		t.Run(name, func(t *testing.T) {
			in := &input{members: append([]memberView{here("a")}, c.others...)}
			in.markAcross()
			got, _, _ := loadOf(&pb.ServiceFacts{Pods: c.pods}, time.Second, in.members[0].quietScrapes())
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
