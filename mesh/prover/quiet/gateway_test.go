// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quiet

import (
	"strings"
	"testing"
)

func TestAGatewayCountsWhatPassesThroughIt(t *testing.T) {
	const bare = `envoy_listener_downstream_cx_active{listener_address="0.0.0.0_15021"} 0
envoy_listener_downstream_cx_active{listener_address="0.0.0.0_15090"} 2
envoy_http_downstream_rq_total{http_conn_manager_prefix="agent"} 9
`
	const listening = bare + `envoy_listener_downstream_cx_active{listener_address="0.0.0.0_8080"} 1
`
	cases := map[string]struct {
		text     string
		measured bool
		arrived  uint64
	}{
		"nothing listens, so nothing arrives":        {bare, true, 0},
		"it listens and tells nothing: not measured": {listening, false, 0},
		"HTTP by requests": {listening + `envoy_http_downstream_rq_total{http_conn_manager_prefix="outbound_0.0.0.0_8080"} 5
`, true, 5},
		"connections by the bytes that came in": {listening + `envoy_tcp_downstream_cx_rx_bytes_total{tcp_prefix="outbound_.8080_._.echo.demo.svc.cluster.local"} 700
`, true, 700},
		"its statistics say nothing of listeners": {"envoy_server_uptime 3\n", false, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(strings.NewReader(c.text), 1<<20, Gateway)
			if err != nil {
				t.Fatal(err)
			}
			var sum uint64
			for _, n := range s.Arrived {
				sum += n
			}
			if (len(s.Arrived) > 0) != c.measured || sum != c.arrived {
				t.Errorf("arrived %v", s.Arrived)
			}
		})
	}
}
