// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weir-io/weir/dns/zone"
	"github.com/weir-io/weir/dns/zone/names"
)

// Zone is the global zone as the operator wants it.
type Zone struct {
	origin  string // with a dot at its end
	ttl     zone.TTL
	servers []zone.NameServer
}

// ParseZone makes a zone of its origin, of name servers as NAME or NAME=ADDRESS,ADDRESS…, and of the time for which answers
// may be cached where a service asks for none. Errors tell the way out.
func ParseZone(origin string, servers []string, ttl time.Duration) (*Zone, error) {
	name, err := zone.CheckOrigin(origin)
	if err != nil {
		return nil, fmt.Errorf("zone: %w", err)
	}
	z := &Zone{origin: name}
	if err := z.ttl.UnmarshalText([]byte(ttl.String())); err != nil {
		return nil, fmt.Errorf("time to live: %w", err)
	}
	if len(servers) > zone.MaxNameServers {
		return nil, fmt.Errorf("%d name servers: a zone has %d at most", len(servers), zone.MaxNameServers)
	}
	for _, text := range servers {
		server, err := parseNameServer(text)
		if err == nil {
			err = zone.CheckNameServer(name, server)
		}
		if err != nil {
			return nil, fmt.Errorf("name server %q: %w", text, err)
		}
		if slices.ContainsFunc(z.servers, func(o zone.NameServer) bool { return canonical(o.Name) == canonical(server.Name) }) {
			return nil, fmt.Errorf("name server %q is given twice: give it once, with all of its addresses", text)
		}
		z.servers = append(z.servers, server)
	}
	return z, nil
}

func parseNameServer(text string) (zone.NameServer, error) {
	name, list, more := strings.Cut(text, "=")
	out := zone.NameServer{Name: name}
	if !more {
		return out, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		address, err := netip.ParseAddr(part)
		if err != nil {
			return out, fmt.Errorf("%q is no address: give one such as 192.0.2.53, several with a comma in between", part)
		}
		out.Addresses = append(out.Addresses, address)
	}
	return out, nil
}

// plain is the zone for names.Plan; nil for none.
func (z *Zone) plain() *names.Zone {
	if z == nil {
		return nil
	}
	return &names.Zone{Origin: z.origin, NameServers: z.servers}
}

// defaultTTL is that of services that ask for none; nil: that of the package.
func (z *Zone) defaultTTL() *zone.TTL {
	if z == nil {
		return nil
	}
	return &z.ttl
}

// canonical is a host name in lower case with a dot at its end.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) + "." }
