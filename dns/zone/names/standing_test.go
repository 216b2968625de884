// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"testing"
	"time"

	"github.com/weir-io/weir/dns/zone"
	"github.com/weir-io/weir/dns/zone/names"
	"github.com/weir-io/weir/mesh/shift"
)

func TestStandingsAreThoseOfAShift(t *testing.T) {
	for standing, want := range map[names.Standing]shift.DNS{
		names.Named: shift.Named, names.Cached: shift.Cached, names.Expired: shift.Expired, names.Unused: shift.Unused,
	} {
		var got shift.DNS
		if err := got.UnmarshalText([]byte(standing)); err != nil || got != want {
			t.Errorf("%s: %v, %v", standing, got, err)
		}
	}
}

func TestAClusterHasExpiredOnlyWhenEveryServerSaysSo(t *testing.T) {
	const name, cluster = "echo.demo.global.example.com.", "c2"
	out := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return out.Add(time.Duration(seconds) * time.Second) }
	given := func(cluster string, until int) zone.Given {
		return zone.Given{Target: zone.Target{Name: name, Cluster: cluster}, CachedUntil: at(until)}
	}
	server := func(serial uint32, since int, all ...zone.Given) *zone.Report {
		return &zone.Report{Since: at(since), Serial: serial, Given: all}
	}
	cases := map[string]struct {
		servers []*zone.Report
		now     int
		want    names.Standing
		ends    int
	}{
		"the last answer has its TTL and grace to go":     {[]*zone.Report{server(7, -99, given(cluster, 4))}, 3, names.Cached, 6},
		"grace is not over":                               {[]*zone.Report{server(7, -99, given(cluster, 4))}, 5, names.Cached, 6},
		"all is over":                                     {[]*zone.Report{server(7, -99, given(cluster, 4))}, 6, names.Expired, 0},
		"the slowest of two":                              {[]*zone.Report{server(7, -99, given(cluster, 4)), server(8, -99, given(cluster, 9))}, 10, names.Cached, 11},
		"nothing was ever answered, but grace holds":      {[]*zone.Report{server(7, -99)}, 1, names.Cached, 2},
		"nothing was ever answered":                       {[]*zone.Report{server(7, -99)}, 2, names.Expired, 0},
		"another cluster's answers do not count":          {[]*zone.Report{server(7, -99, given("c1", 50))}, 6, names.Expired, 0},
		"a server has the table before":                   {[]*zone.Report{server(7, -99), server(6, -99)}, 100, names.Named, 0},
		"a server has no table":                           {[]*zone.Report{server(0, -99)}, 100, names.Named, 0},
		"a server was not heard":                          {[]*zone.Report{server(7, -99), nil}, 100, names.Named, 0},
		"a server was restarted and has forgotten":        {[]*zone.Report{server(7, 3)}, 9, names.Cached, 10},
		"a server was restarted and enough time has gone": {[]*zone.Report{server(7, 3)}, 10, names.Expired, 0},
		"a server began a second before":                  {[]*zone.Report{server(7, -1)}, 5, names.Cached, 6},
		"a server began its TTL before":                   {[]*zone.Report{server(7, -5)}, 2, names.Expired, 0},
		"no server is left to ask":                        {nil, 6, names.Cached, 7},
		"no server is left, and enough time has gone":     {nil, 7, names.Expired, 0},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			got, ends := names.StandingOf(names.Query{
				Names: []string{name}, Cluster: cluster, OutSince: 7, OutAt: out, TTL: 5, Grace: 2 * time.Second, Servers: c.servers, Now: at(c.now),
			})
			if got != c.want || c.ends != 0 && !ends.Equal(at(c.ends)) || c.ends == 0 && !ends.IsZero() {
				t.Errorf("%s until %s", got, ends)
			}
		})
	}
	if got, _ := names.StandingOf(names.Query{Cluster: cluster}); got != names.Unused {
		t.Errorf("without names: %s", got)
	}
	if got, _ := names.StandingOf(names.Query{Names: []string{name}, Cluster: cluster}); got != names.Named {
		t.Errorf("while it is answered: %s", got)
	}
}
