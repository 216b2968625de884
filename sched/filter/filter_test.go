// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"testing"

	"github.com/weir-io/weir/sched/match"
	"github.com/weir-io/weir/sched/reason"
)

func TestAClusterIsOpenClosedOrOut(t *testing.T) {
	field := func(key string, operator match.Operator, value string) match.Selector {
		return match.Selector{{Key: key, Operator: operator, Values: []string{value}}}
	}
	tier := func(value string) match.Selector { return field("tier", match.In, value) }
	for name, c := range map[string]struct {
		wish    Wish
		change  func(*Cluster)
		outcome Outcome
		code    reason.Code
	}{
		"all is well":               {Wish{}, func(*Cluster) {}, Open, ""},
		"named":                     {Wish{Names: map[string]bool{"c1": true}}, func(*Cluster) {}, Open, ""},
		"another is named":          {Wish{Names: map[string]bool{"c2": true}}, func(*Cluster) {}, Out, reason.NotSelected},
		"nobody is named":           {Wish{Names: map[string]bool{}}, func(*Cluster) {}, Out, reason.NotSelected},
		"region":                    {Wish{Fields: field(Region, match.In, "north")}, func(*Cluster) {}, Open, ""},
		"another region":            {Wish{Fields: field(Region, match.In, "south")}, func(*Cluster) {}, Out, reason.NotSelected},
		"not this region":           {Wish{Fields: field(Region, match.NotIn, "north")}, func(*Cluster) {}, Out, reason.NotSelected},
		"no region":                 {Wish{Fields: field(Region, match.In, "")}, func(c *Cluster) { c.Fields = nil }, Out, reason.NotSelected},
		"another zone":              {Wish{Fields: append(field(Region, match.In, "north"), field(Zone, match.In, "b")...)}, func(*Cluster) {}, Out, reason.NotSelected},
		"labels":                    {Wish{Labels: tier("production")}, func(*Cluster) {}, Open, ""},
		"other labels":              {Wish{Labels: tier("test")}, func(*Cluster) {}, Out, reason.NotSelected},
		"drained":                   {Wish{}, func(c *Cluster) { c.Duty = Drained }, Out, reason.Drained},
		"left out":                  {Wish{}, func(c *Cluster) { c.Duty = LeftOut }, Out, reason.LeftOut},
		"suspect":                   {Wish{}, func(c *Cluster) { c.Health = Suspect }, Open, ""},
		"dead":                      {Wish{}, func(c *Cluster) { c.Health = Dead }, Closed, reason.Dead},
		"partitioned":               {Wish{}, func(c *Cluster) { c.Health = Partitioned }, Closed, reason.Partitioned},
		"dead and drained":          {Wish{}, func(c *Cluster) { c.Health, c.Duty = Dead, Drained }, Out, reason.Drained},
		"not seen":                  {Wish{}, func(c *Cluster) { c.Seen = false }, Closed, reason.NoView},
		"seen long ago":             {Wish{}, func(c *Cluster) { c.Stale = true }, Closed, reason.StaleView},
		"a taint":                   {Wish{}, func(c *Cluster) { c.Taints = []match.Taint{{Key: "x", Effect: match.NoSchedule}} }, Closed, reason.Tainted},
		"a soft taint":              {Wish{}, func(c *Cluster) { c.Taints = []match.Taint{{Key: "x", Effect: match.PreferNoSchedule}} }, Open, ""},
		"a taint that evicts":       {Wish{}, func(c *Cluster) { c.Taints = []match.Taint{{Key: "x", Effect: match.NoExecute}} }, Out, reason.Evicted},
		"a taint that is tolerated": {Wish{Tolerations: []match.Toleration{{Key: "x", Exists: true}}}, func(c *Cluster) { c.Taints = []match.Taint{{Key: "x", Effect: match.NoExecute}} }, Open, ""},
		"the kind is not served":    {Wish{Kind: "apps/v1/Deployment"}, func(c *Cluster) { c.Name = "old" }, Closed, reason.NotServed},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := Cluster{Name: "c1", Fields: map[string]string{Region: "north", Zone: "a"}, Labels: map[string]string{"tier": "production"}, Seen: true}
			c.change(&cluster)
			outcome, code, message := Judge(&c.wish, &cluster, cluster.Name != "old")
			if outcome != c.outcome || code != c.code || (message == "") != (outcome == Open) {
				t.Errorf("%d %s %q", outcome, code, message)
			}
		})
	}
}

func TestAKindIsServedByItsVersionOrItsNameAndByWhoSaysNothing(t *testing.T) {
	const deployment = "apps/v1/Deployment"
	for name, c := range map[string]struct {
		served []string
		kind   string
		want   bool
	}{
		"the kind":                 {[]string{"v1", deployment}, deployment, true},
		"its version":              {[]string{"apps/v1"}, deployment, true},
		"another version":          {[]string{"apps/v1beta1", "apps/v1/StatefulSet"}, deployment, false},
		"a kind of the core group": {[]string{"v1"}, "v1/Service", true},
		"another one of it":        {[]string{"v1/Pod"}, "v1/Service", false},
		"nothing is known":         {nil, deployment, true},
		"nothing is asked":         {[]string{"v1"}, "", true},
	} {
		if got := Serves(c.served, c.kind); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
