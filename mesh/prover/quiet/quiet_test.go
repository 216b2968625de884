// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quiet

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sample(t *testing.T, name string) Sample {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s, err := Parse(f, 1<<20, Application)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The pod of these recordings was probed by its kubelet each second. Between
// them three requests came from a client without a sidecar.
func TestRecordedStatisticsCountRequestsAndNoProbes(t *testing.T) {
	before, after := sample(t, "after-0-requests.txt"), sample(t, "after-3-requests.txt")
	const counter = "envoy_http_downstream_rq_total"
	if before.Arrived[counter] != 0 || after.Arrived[counter] != 3 {
		t.Errorf("arrivals %v, then %v; want 0, then 3", before.Arrived, after.Arrived)
	}
	if !after.InFlightKnown || after.InFlight != 0 {
		t.Errorf("in flight: %+v", after)
	}
}

func TestOnlyInboundStatisticsCount(t *testing.T) {
	text := `# TYPE envoy_http_downstream_rq_total counter
envoy_http_downstream_rq_total{http_conn_manager_prefix="outbound_0.0.0.0_8080"} 5
envoy_http_downstream_rq_total{http_conn_manager_prefix="agent"} 70
envoy_cluster_upstream_rq_total{cluster_name="agent"} 70
envoy_cluster_upstream_rq_total{cluster_name="outbound|80||a.b"} 9
istio_requests_total{reporter="source",destination_app="x"} 9
`
	s, err := Parse(strings.NewReader(text), 1<<20, Application)
	if err != nil || len(s.Arrived) != 0 || s.InFlightKnown {
		t.Errorf("Parse = %+v, %v; nothing of this is inbound", s, err)
	}
	text += `istio_requests_total{reporter="destination",source_app="a"} 2
istio_requests_total{reporter="destination",source_app="b"} 3
envoy_cluster_upstream_rq_active{cluster_name="inbound|8080||"} 4
`
	s, err = Parse(strings.NewReader(text), 1<<20, Application)
	want := Sample{Arrived: map[string]uint64{"istio_requests_total": 5}, InFlight: 4, InFlightKnown: true}
	if diff := cmp.Diff(want, s); err != nil || diff != "" {
		t.Errorf("Parse: %v (-want +got):\n%s", err, diff)
	}
}

func TestStatisticsAreBounded(t *testing.T) {
	if _, err := Parse(strings.NewReader(strings.Repeat("envoy_x 1\n", 1000)), 100, Application); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Parse = %v", err)
	}
}

var (
	id    = ID{Namespace: "a", Name: "b", UID: "1"}
	start = time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC)
)

func counted(n uint64) Sample {
	return Sample{Arrived: map[string]uint64{"c": n}, InFlightKnown: true}
}

// scraped is what is known of a pod after scrapes a second apart; nil stands for one that failed.
func scraped(scrapes []*Sample) Pod {
	var tr Tracker
	tr.Keep([]ID{id})
	for n, s := range scrapes {
		now := start.Add(time.Duration(n) * time.Second)
		if s == nil {
			tr.Missed(id, now, ReasonNoAnswer)
		} else {
			tr.Seen(id, now, *s)
		}
	}
	return tr.Pods(func(ID) bool { return true })[0]
}

func TestQuietNeedsTwoScrapesWithoutAnArrival(t *testing.T) {
	none := Sample{}
	for name, tc := range map[string]struct {
		scrapes []*Sample // nil: could not be scraped
		want    State
		arrived uint64
	}{
		"one scrape":                  {scrapes: []*Sample{new(counted(7))}, want: StateBusy},
		"nothing once":                {scrapes: []*Sample{new(counted(7)), new(counted(7))}, want: StateOnce},
		"nothing twice":               {scrapes: []*Sample{new(counted(7)), new(counted(7)), new(counted(7))}, want: StateTwice},
		"something":                   {scrapes: []*Sample{new(counted(7)), new(counted(7)), new(counted(9))}, want: StateBusy, arrived: 2},
		"again quiet":                 {scrapes: []*Sample{new(counted(7)), new(counted(9)), new(counted(9)), new(counted(9))}, want: StateTwice, arrived: 2},
		"restart":                     {scrapes: []*Sample{new(counted(7)), new(counted(7)), new(counted(1))}, want: StateBusy, arrived: 1},
		"restart without an arrival":  {scrapes: []*Sample{new(counted(7)), new(counted(7)), new(counted(0))}, want: StateBusy},
		"gap":                         {scrapes: []*Sample{new(counted(7)), new(counted(7)), nil, new(counted(7))}, want: StateOnce},
		"not to be read":              {scrapes: []*Sample{new(counted(7)), nil}, want: StateNotMeasured},
		"no statistic":                {scrapes: []*Sample{&none, &none, &none}, want: StateNotMeasured},
		"statistic appears with some": {scrapes: []*Sample{new(counted(7)), {Arrived: map[string]uint64{"c": 7, "d": 2}}}, want: StateBusy, arrived: 2},
	} {
		t.Run(name, func(t *testing.T) {
			got := scraped(tc.scrapes)
			if got.State != tc.want || got.Arrivals != tc.arrived || (got.Reason != "") != (tc.want == StateNotMeasured) {
				t.Errorf("%+v, want %s with %d arrivals", got, tc.want, tc.arrived)
			}
		})
	}
}

func TestPodOfTheSameNameBeginsAnew(t *testing.T) {
	var tr Tracker
	tr.Keep([]ID{id})
	for n := range 3 {
		tr.Seen(id, start.Add(time.Duration(n)*time.Second), counted(7))
	}
	next := id
	next.UID = "2"
	tr.Keep([]ID{next})
	tr.Seen(id, start, counted(7)) // The old pod's scrape comes late.
	got := tr.Pods(func(ID) bool { return true })
	if len(got) != 1 || got[0].State != StateNotMeasured || got[0].Reason != ReasonNotYet {
		t.Errorf("%+v", got)
	}
}

// TestNoArrivalIsLost plays requests, scrapes and restarts. What the tracker
// calls quiet has had no request for two scrapes.
func TestNoArrivalIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tr Tracker
		tr.Keep([]ID{id})
		var counter uint64
		uptime := uint64(60)
		since, scraped, fresh := 0, false, false // scrapes since an arrival
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			uptime++
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				counter++
				since = 0
				fresh = true
			case 1:
				counter, uptime = 0, 0
			default:
				tr.Seen(id, start.Add(time.Duration(n)*time.Second), Sample{Arrived: map[string]uint64{"c": counter}, Uptime: uptime})
				if scraped && !fresh {
					since++
				}
				fresh, scraped = false, true
			}
			got := tr.Pods(func(ID) bool { return true })[0]
			if got.State == StateTwice && since < 2 && !fresh {
				t.Fatalf("quiet after %d scrapes without an arrival", since)
			}
		}
	})
}

// flying is a scrape with so many arrivals counted and so many requests in flight.
func flying(arrived, inFlight uint64) *Sample {
	s := counted(arrived)
	s.InFlight, s.InFlightKnown = inFlight, true
	return &s
}

func TestAPodIdlesFromTheFirstScrapeAfterItsLastRequestHasEnded(t *testing.T) {
	unknown := Sample{Arrived: map[string]uint64{"c": 7}}
	for name, tc := range map[string]struct {
		scrapes []*Sample // a second apart; nil: could not be scraped
		since   int       // the scrape; -1: it does not idle, or nobody can tell
	}{
		"one scrape":             {[]*Sample{flying(7, 0)}, -1},
		"nothing":                {[]*Sample{flying(7, 0), flying(7, 0), flying(7, 0)}, 1},
		"a slow request":         {[]*Sample{flying(7, 1), flying(7, 1), flying(7, 1)}, -1},
		"a slow request's end":   {[]*Sample{flying(7, 1), flying(7, 1), flying(7, 0), flying(7, 0)}, 2},
		"something arrives":      {[]*Sample{flying(7, 0), flying(7, 0), flying(8, 0)}, -1},
		"something arrived":      {[]*Sample{flying(7, 0), flying(7, 0), flying(8, 0), flying(8, 0)}, 3},
		"a gap":                  {[]*Sample{flying(7, 0), flying(7, 0), nil}, -1},
		"after a gap":            {[]*Sample{flying(7, 0), flying(7, 0), nil, flying(7, 0)}, 3},
		"nobody counts requests": {[]*Sample{&unknown, &unknown, &unknown}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			want := time.Time{}
			if tc.since >= 0 {
				want = start.Add(time.Duration(tc.since) * time.Second)
			}
			if got := scraped(tc.scrapes).IdleSince; !got.Equal(want) {
				t.Errorf("it idles since %s, want %s", got, want)
			}
		})
	}
}
