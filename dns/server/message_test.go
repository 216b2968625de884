// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/weir-io/weir/dns/zone"
)

// says is an answer in short.
func says(m *dns.Msg) string {
	var flags []string
	for name, set := range map[string]bool{"aa": m.Authoritative, "ra": m.RecursionAvailable, "rd": m.RecursionDesired, "tc": m.Truncated, "ad": m.AuthenticatedData} {
		if set {
			flags = append(flags, name)
		}
	}
	slices.Sort(flags)
	out := []string{codeName(m.Rcode), strings.Join(flags, "+")}
	for section, all := range map[string][]dns.RR{"": m.Answer, "!": m.Ns} {
		for _, rr := range all {
			out = append(out, section+strings.Join(strings.Fields(rr.String()), " "))
		}
	}
	if opt := m.IsEdns0(); opt != nil {
		text := fmt.Sprintf("opt(%d,do=%v)", opt.UDPSize(), opt.Do())
		for _, o := range opt.Option {
			if ede, ok := o.(*dns.EDNS0_EDE); ok {
				text += fmt.Sprintf(" ede=%d", ede.InfoCode)
			} else {
				text += " " + o.String()
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " | ")
}

const (
	globalSOA  = "!global.example.com. 5 IN SOA ns.global.example.com. hostmaster.global.example.com. 7 7200 1800 86400 5"
	clusterSOA = "!clusterset.local. 5 IN SOA ns.clusterset.local. hostmaster.clusterset.local. 7 7200 1800 86400 5"
)

// TestEachQuestionIsAnsweredAsTheStandardsSay has a row for each rule of a message, with the RFC behind it.
func TestEachQuestionIsAnsweredAsTheStandardsSay(t *testing.T) {
	s := start(t, nil)
	s.Set(parse(t, names))
	with := func(m *dns.Msg, change func(*dns.Msg)) *dns.Msg {
		change(m)
		return m
	}
	edns := func(size uint16, change func(*dns.OPT)) func(*dns.Msg) {
		return func(m *dns.Msg) {
			m.SetEdns0(size, false)
			if change != nil {
				change(m.IsEdns0())
			}
		}
	}
	const one = "one.demo.global.example.com."
	cases := map[string]struct {
		ask  *dns.Msg
		want string
	}{
		"an address, with authority and without recursion (1034)": {question(one, dns.TypeA), "NOERROR | aa | " + one + " 5 IN A 192.0.2.1"},
		"of the cluster set":                                     {question("echo.demo.svc.clusterset.local.", dns.TypeA), "NOERROR | aa | echo.demo.svc.clusterset.local. 5 IN A 10.96.0.7"},
		"in the spelling of the question (4343)":                 {question("oNe.DEMO.global.example.com.", dns.TypeA), "NOERROR | aa | oNe.DEMO.global.example.com. 5 IN A 192.0.2.1"},
		"the wish for recursion is copied (1035)":                {with(question(one, dns.TypeA), func(m *dns.Msg) { m.RecursionDesired = true }), "NOERROR | aa+rd | " + one + " 5 IN A 192.0.2.1"},
		"the other family is no data, with the SOA (4074, 2308)": {question(one, dns.TypeAAAA), "NOERROR | aa | " + globalSOA},
		"an unknown type is no data (3597)":                      {question(one, 65280), "NOERROR | aa | " + globalSOA},
		"service binding is no data (9460)":                      {question(one, dns.TypeHTTPS), "NOERROR | aa | " + globalSOA},
		"a name that is not there, with the SOA (2308)":          {question("nope.demo.global.example.com.", dns.TypeA), "NXDOMAIN | aa | " + globalSOA},
		"a name with names below it is there (8020)":             {question("demo.svc.clusterset.local.", dns.TypeA), "NOERROR | aa | " + clusterSOA},
		"a service with no cluster left is there":                {question("out.demo.global.example.com.", dns.TypeA), "NOERROR | aa | " + globalSOA},
		"the SOA of the origin":                                  {question("GLOBAL.example.com.", dns.TypeSOA), "NOERROR | aa | " + strings.Replace(globalSOA[1:], "global", "GLOBAL", 1)},
		"the name servers of the origin":                         {question("clusterset.local.", dns.TypeNS), "NOERROR | aa | clusterset.local. 3600 IN NS ns.clusterset.local."},
		"any type gives one set (8482)":                          {question(one, dns.TypeANY), "NOERROR | aa | " + one + " 5 IN A 192.0.2.1"},
		"names elsewhere are refused (8906)":                     {question("example.org.", dns.TypeA), "REFUSED | "},
		"the root is refused":                                    {question(".", dns.TypeNS), "REFUSED | "},
		"other classes are refused (5001)":                       {with(question("version.bind.", dns.TypeTXT), func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }), "REFUSED | "},
		"a transfer is refused (5936)":                           {question("global.example.com.", dns.TypeAXFR), "REFUSED | "},
		"an increment too (1995)":                                {question("global.example.com.", dns.TypeIXFR), "REFUSED | "},
		"a notice is not implemented (1996)":                     {with(question("global.example.com.", dns.TypeSOA), func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }), "NOTIMP | "},
		"an update is not implemented (2136)":                    {with(question("global.example.com.", dns.TypeSOA), func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }), "NOTIMP | "},
		"two questions are malformed (9619)":                     {with(question(one, dns.TypeA), func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }), "FORMERR | "},
		"no question is malformed":                               {with(question(one, dns.TypeA), func(m *dns.Msg) { m.Question = nil }), "FORMERR | "},
		"EDNS is answered with EDNS (6891)":                      {with(question(one, dns.TypeA), edns(4096, nil)), "NOERROR | aa | " + one + " 5 IN A 192.0.2.1 | opt(1232,do=false)"},
		"and so are errors":                                      {with(question("example.org.", dns.TypeA), edns(4096, nil)), "REFUSED |  | opt(1232,do=false)"},
		"DO is copied (3225)":                                    {with(question(one, dns.TypeA), edns(4096, func(o *dns.OPT) { o.SetDo() })), "NOERROR | aa | " + one + " 5 IN A 192.0.2.1 | opt(1232,do=true)"},
		"an unknown version is told (6891)":                      {with(question(one, dns.TypeA), edns(4096, func(o *dns.OPT) { o.SetVersion(1) })), "BADVERS |  | opt(1232,do=false)"},
		"unknown options and flags are not echoed (6891)": {with(question(one, dns.TypeA), edns(4096, func(o *dns.OPT) {
			o.SetZ(0x1234)
			o.Option = []dns.EDNS0{&dns.EDNS0_LOCAL{Code: 65001, Data: []byte{1}}}
		})), "NOERROR | aa | " + one + " 5 IN A 192.0.2.1 | opt(1232,do=false)"},
		"two OPT records are malformed (6891)":                         {with(question(one, dns.TypeA), func(m *dns.Msg) { edns(4096, nil)(m); edns(4096, nil)(m) }), "FORMERR | "},
		"OPT is no type to ask for":                                    {question(one, dns.TypeOPT), "FORMERR | "},
		"an answer too long has the TC bit and no record (2181)":       {question("many.demo.global.example.com.", dns.TypeA), "NOERROR | aa+tc"},
		"also with EDNS where the client takes no more":                {with(question("many.demo.global.example.com.", dns.TypeA), edns(500, nil)), "NOERROR | aa+tc | opt(1232,do=false)"},
		"and where the path would not (9715)":                          {with(question("most.demo.global.example.com.", dns.TypeAAAA), edns(60000, nil)), "NOERROR | aa+tc | opt(1232,do=false)"},
		"the longest name there can be is a name":                      {question(strings.Repeat("a.", 126)+"a.", dns.TypeA), "REFUSED | "},
		"a dot within a label is none (1035)":                          {question(`echo\.demo.svc.clusterset.local.`, dns.TypeA), "NXDOMAIN | aa | " + clusterSOA},
		"bytes that no host has are only a name that is not there":     {question(`\000\255.clusterset.local.`, dns.TypeA), "NXDOMAIN | aa | " + clusterSOA},
		"the form that is kept for headless services is none (MCS D8)": {question("c1.echo.demo.svc.clusterset.local.", dns.TypeA), "NXDOMAIN | aa | " + clusterSOA},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.exchange(t, "udp", c.ask)
			if diff := cmp.Diff(strings.TrimSuffix(c.want, " | "), strings.TrimSuffix(says(a), " | ")); diff != "" {
				t.Error(diff)
			}
			if a.Id != c.ask.Id || !a.Response || a.Opcode != c.ask.Opcode {
				t.Errorf("not the answer to the question: %s", a)
			}
			if over := s.exchange(t, "tcp", c.ask); over.Rcode != a.Rcode || over.Truncated {
				t.Errorf("over TCP: %s", says(over))
			}
		})
	}
}

func TestWhatCanNotBeSaidIsToldAsSuch(t *testing.T) {
	s := start(t, nil)
	ask := func(name string, withEDNS bool) string {
		m := question(name, dns.TypeA)
		if withEDNS {
			m.SetEdns0(1232, false)
		}
		return says(s.exchange(t, "udp", m))
	}
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	check(ask("one.demo.global.example.com.", false), "SERVFAIL | ")
	check(ask("example.org.", true), "SERVFAIL |  | opt(1232,do=false) ede=14")
	if err := s.Ready(); err == nil || err.Error() != "there is no table yet" {
		t.Errorf("ready: %v", err)
	}

	s.Set(parse(t, "clusterSet: {state: Unsynced}"))
	check(ask("echo.demo.svc.clusterset.local.", true), "SERVFAIL |  | opt(1232,do=false) ede=14")
	if err := s.Ready(); err == nil || err.Error() != "zone clusterset.local is not synced" {
		t.Errorf("ready: %v", err)
	}

	s.Set(parse(t, "clusterSet: {state: Stale, services: [{namespace: demo, name: echo, ttl: 1h, addresses: [10.0.0.1]}]}"))
	check(ask("echo.demo.svc.clusterset.local.", true), "NOERROR | aa | echo.demo.svc.clusterset.local. 30 IN A 10.0.0.1 | opt(1232,do=false) ede=3")
	check(ask("nope.demo.svc.clusterset.local.", true), "SERVFAIL |  | opt(1232,do=false) ede=3")
	check(ask("nope.demo.svc.clusterset.local.", false), "SERVFAIL | ")
	if err := s.Ready(); err != nil {
		t.Errorf("ready: %v", err)
	}
}

func TestAnAnswerTooLongForUDPComesWholeOverTCP(t *testing.T) {
	s := start(t, nil)
	s.Set(parse(t, names))
	for name, want := range map[string]int{"many": 30, "most": zone.MaxAddresses} {
		if a := s.exchange(t, "tcp", question(name+".demo.global.example.com.", dns.TypeANY)); len(a.Answer) != want || a.Truncated {
			t.Errorf("%s: %d records", name, len(a.Answer))
		}
	}
	m := question("many.demo.global.example.com.", dns.TypeA)
	m.SetEdns0(1232, false)
	if a := s.exchange(t, "udp", m); len(a.Answer) != 30 || a.Truncated {
		t.Errorf("with EDNS: %s", says(a))
	}
}

// FuzzWhateverArrivesIsAnsweredByTheRules takes a message the way the sockets do, without them.
func FuzzWhateverArrivesIsAnsweredByTheRules(f *testing.F) {
	for _, m := range []*dns.Msg{
		question("echo.demo.global.example.com.", dns.TypeA), question("most.demo.global.example.com.", dns.TypeAAAA),
		question("nope.clusterset.local.", dns.TypeANY), question("global.example.com.", dns.TypeIXFR), question(".", dns.TypeNS),
	} {
		for _, size := range []uint16{0, 1, 4096} {
			if size > 0 {
				m.SetEdns0(size, true)
			}
			raw, err := m.Pack()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw, uint64(size))
			f.Add(raw[:len(raw)-1], uint64(0))
		}
	}
	tbl := parse(f, names)
	f.Fuzz(func(t *testing.T, raw []byte, draw uint64) {
		request := new(dns.Msg)
		if request.Unpack(raw) != nil || request.Response {
			return
		}
		m, a := reply(tbl, request, draw)
		limit := limitOf(request)
		out, whole, err := pack(m, limit)
		if err != nil {
			t.Fatalf("%s\n%s", err, request)
		}
		got := new(dns.Msg)
		if err := got.Unpack(out); err != nil {
			t.Fatal(err)
		}
		switch opt := request.IsEdns0(); {
		case len(out) > limit, limit > maxUDP, opt == nil && len(out) > dns.MinMsgSize:
			t.Errorf("%d bytes of %d", len(out), limit)
		case got.Id != request.Id, !got.Response, got.RecursionAvailable, got.Opcode != request.Opcode:
			t.Errorf("not an answer to the question: %s\n%s", got, request)
		case got.Truncated && len(got.Answer)+len(got.Ns) > 0, got.Truncated == whole:
			t.Errorf("a part of a set: %s", got)
		case got.IsEdns0() != nil && opt == nil:
			t.Errorf("EDNS unasked: %s", got)
		case a.Target >= 0 && len(a.Addresses) == 0:
			t.Errorf("a cluster is named without an address: %s", got)
		}
		soa := len(got.Ns) == 1 && got.Ns[0].Header().Rrtype == dns.TypeSOA
		negative := got.Rcode == dns.RcodeNameError || got.Rcode == dns.RcodeSuccess && len(got.Answer) == 0
		if soa != (negative && !got.Truncated) {
			t.Errorf("SOA: %v\n%s", soa, got)
		}
	})
}
