// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"strings"

	"github.com/miekg/dns"

	"github.com/weir-io/weir/dns/zone"
)

// maxUDP is the most that is sent over UDP: it passes every path that carries IPv6 unfragmented (RFC 9715).
const maxUDP = 1232

// Timers of the SOA, in seconds. There are no secondaries to heed them.
const (
	soaRefresh = 7200
	soaRetry   = 1800
	soaExpire  = 86400
)

// reply makes the answer to a question that was accepted. It does not look at sizes.
func reply(table *zone.Table, request *dns.Msg, draw uint64) (*dns.Msg, zone.Answer) {
	m := new(dns.Msg)
	m.SetReply(request)
	m.Compress = true
	none := zone.Answer{Target: -1}
	opt, err := edns(request)
	if err != 0 {
		m.Rcode = err
		return withOPT(m, opt), none
	}
	if code := unserved(request); code != 0 {
		m.Rcode = code
		return withOPT(m, opt), none
	}
	q := request.Question[0]
	a := table.Lookup(zone.Question{Name: strings.ToLower(q.Name), Type: q.Qtype, Draw: draw})
	m.Rcode = int(a.Rcode)
	m.Authoritative = a.Rcode == zone.NoError || a.Rcode == zone.NameError
	switch {
	case !m.Authoritative:
	case a.Type != 0:
		m.Answer = records(table, q.Name, a)
	default:
		m.Ns = []dns.RR{soa(table, a.Zone, a.Zone.Origin)}
	}
	m = withOPT(m, opt)
	explain(m, a.Reason)
	return m, a
}

// edns returns the OPT record for the answer, nil where the question had none, and the code of an error in it.
func edns(request *dns.Msg) (*dns.OPT, int) {
	var asked *dns.OPT
	for _, rr := range request.Extra {
		opt, ok := rr.(*dns.OPT)
		if !ok {
			continue
		}
		if asked != nil { // RFC 6891 §6.1.1.
			return nil, dns.RcodeFormatError
		}
		asked = opt
	}
	if asked == nil {
		return nil, 0
	}
	opt := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
	opt.SetUDPSize(maxUDP)
	if asked.Do() {
		opt.SetDo()
	}
	if asked.Version() != 0 {
		return opt, dns.RcodeBadVers
	}
	return opt, 0
}

// unserved returns the code for what is no question to a zone; 0 for one that is.
func unserved(request *dns.Msg) int {
	if request.Opcode != dns.OpcodeQuery {
		return dns.RcodeNotImplemented
	}
	if len(request.Question) != 1 {
		return dns.RcodeFormatError
	}
	q := request.Question[0]
	switch {
	case q.Qclass != dns.ClassINET:
		return dns.RcodeRefused
	case q.Qtype == dns.TypeAXFR, q.Qtype == dns.TypeIXFR:
		return dns.RcodeRefused
	case q.Qtype == dns.TypeOPT:
		return dns.RcodeFormatError
	}
	return 0
}

func withOPT(m *dns.Msg, opt *dns.OPT) *dns.Msg {
	if opt != nil {
		m.Extra = append(m.Extra, opt)
	}
	return m
}

// explain tells clients with EDNS what an answer lacks (RFC 8914).
func explain(m *dns.Msg, reason zone.Reason) {
	opt := m.IsEdns0()
	if opt == nil {
		return
	}
	switch reason {
	case zone.NotSynced, zone.NoTable:
		opt.Option = append(opt.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeNotReady})
	case zone.FoundStale, zone.NotKnownStale:
		opt.Option = append(opt.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeStaleAnswer})
	default:
	}
}

// records writes the records under the name as it was asked for.
func records(table *zone.Table, name string, a zone.Answer) []dns.RR {
	header := dns.RR_Header{Name: name, Rrtype: a.Type, Class: dns.ClassINET, Ttl: uint32(a.TTL)}
	switch a.Type {
	case zone.TypeSOA:
		return []dns.RR{soa(table, a.Zone, name)}
	case zone.TypeNS:
		out := make([]dns.RR, 0, len(a.Zone.NameServers))
		for _, ns := range a.Zone.NameServers {
			out = append(out, &dns.NS{Hdr: header, Ns: ns})
		}
		return out
	}
	out := make([]dns.RR, 0, len(a.Addresses))
	for _, address := range a.Addresses {
		if a.Type == zone.TypeA {
			out = append(out, &dns.A{Hdr: header, A: net.IP(address.AsSlice())})
		} else {
			out = append(out, &dns.AAAA{Hdr: header, AAAA: net.IP(address.AsSlice())})
		}
	}
	return out
}

func soa(table *zone.Table, z *zone.Zone, name string) *dns.SOA {
	return &dns.SOA{
		Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: uint32(zone.NegativeTTL)},
		Ns:  z.NameServers[0], Mbox: z.Mailbox, Serial: table.Serial(),
		Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire, Minttl: uint32(zone.NegativeTTL),
	}
}

// pack writes the answer in the form of the wire, within the limit. It says whether the records are in it.
func pack(m *dns.Msg, limit int) ([]byte, bool, error) {
	out, err := m.Pack()
	if err != nil || len(out) <= limit {
		return out, true, err
	}
	// A set is sent whole or not at all (RFC 2181 §9): the client asks again over TCP.
	m.Truncated = true
	m.Answer, m.Ns = nil, nil
	out, err = m.Pack()
	return out, false, err
}

// limitOf is how long an answer over UDP may be.
func limitOf(request *dns.Msg) int {
	opt := request.IsEdns0()
	if opt == nil {
		return dns.MinMsgSize
	}
	return min(max(int(opt.UDPSize()), dns.MinMsgSize), maxUDP)
}
