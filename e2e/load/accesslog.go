// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"time"
)

// The headers that carry a request's id. Proxies may set RequestIDHeader
// themselves when a request enters a mesh, so the id travels in IDHeader too,
// which nothing but this package's programs knows.
const (
	IDHeader        = "X-Load-Id"
	RequestIDHeader = "X-Request-Id"
)

// AccessLogFormat is the JSON access log format (meshConfig.accessLogFormat,
// with accessLogEncoding JSON) that ParseAccessLog reads. It names every
// upstream that was given the request, in order, which the usual formats do not:
// they name the last one only.
const AccessLogFormat = `{"start":"%START_TIME%","id":"%REQ(X-LOAD-ID)%",` +
	`"attempted":"%UPSTREAM_HOSTS_ATTEMPTED%","attempts":"%UPSTREAM_REQUEST_ATTEMPT_COUNT%",` +
	`"code":"%RESPONSE_CODE%","flags":"%RESPONSE_FLAGS%"}`

// accessLine is the part of an access log line that counts as evidence.
type accessLine struct {
	Start     time.Time `json:"start"`
	ID        string    `json:"id"`
	Attempted string    `json:"attempted"`
}

// ParseAccessLog reads the log of a client's proxy and gives, for each request
// with an id of ours, the address of the first upstream that was given it. Lines
// that are no access log of that form are passed over, since a proxy mixes its
// own messages into the same stream. Envoy counts an upstream only when it had a
// connection to it, so a request for which all connections failed gives no
// evidence, and counts as lost wherever that matters.
func ParseAccessLog(log []byte) []Sight {
	var sights []Sight
	for line := range bytes.Lines(log) {
		var a accessLine
		if json.Unmarshal(line, &a) != nil || a.ID == "" || a.ID == "-" || a.Start.IsZero() {
			continue
		}
		first, _, _ := strings.Cut(a.Attempted, ",")
		upstream, err := netip.ParseAddrPort(strings.TrimSpace(first))
		if err != nil {
			continue
		}
		sights = append(sights, Sight{ID: a.ID, Upstream: upstream.Addr().String(), Time: a.Start.UnixNano()})
	}
	return sights
}
