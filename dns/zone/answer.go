// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import "net/netip"

// Question is one look-up.
type Question struct {
	// Name in lower case, in the form of a master file with a dot at its end, escapes included.
	Name string
	// Type of record, by its number.
	Type uint16
	// Draw decides among clusters: any value, each as likely as the other.
	Draw uint64
}

// Answer is what a table says to a question.
type Answer struct {
	// Rcode of the answer.
	Rcode Rcode
	// Reason in more detail than the code.
	Reason Reason
	// Zone that the name is in; nil for Outside and NoTable.
	Zone *Zone
	// Type of the records: that of the question, or the one chosen for ANY. 0: no records, the zone's SOA is due
	// wherever the code is NoError or NameError.
	Type uint16
	// TTL of the records.
	TTL TTL
	// Addresses for types A and AAAA. Not to be changed.
	Addresses []netip.Addr
	// Target is the place in Table.Targets of what the addresses name; -1 where they name no single cluster.
	Target int
}

// Rcode is a response code of RFC 1035.
type Rcode uint8

// Codes that a look-up gives.
const (
	NoError   Rcode = 0
	ServFail  Rcode = 2
	NameError Rcode = 3
	Refused   Rcode = 5
)

// Types of record that a table tells apart, by their numbers.
const (
	TypeA    uint16 = 1
	TypeNS   uint16 = 2
	TypeSOA  uint16 = 6
	TypeAAAA uint16 = 28
	TypeANY  uint16 = 255
)

// Reason says why an answer is what it is.
type Reason string

// The closed list of reasons.
const (
	// Found: there are records.
	Found Reason = "Found"
	// FoundStale: there are records, of a zone that may be outdated.
	FoundStale Reason = "FoundStale"
	// NoData: the name exists and has nothing of this type.
	NoData Reason = "NoData"
	// NoTarget: the name has addresses as a rule, and no cluster to name now.
	NoTarget Reason = "NoTarget"
	// NoName: the name does not exist.
	NoName Reason = "NoName"
	// Outside: the name is in none of the zones.
	Outside Reason = "Outside"
	// NotSynced: the zone was never complete.
	NotSynced Reason = "NotSynced"
	// NotKnownStale: the name is not known, and the zone may be outdated.
	NotKnownStale Reason = "NotKnownStale"
	// NoTable: there is no table yet.
	NoTable Reason = "NoTable"
)

// Zone is one zone of a table.
type Zone struct {
	// Origin of the zone, in lower case with a dot at its end.
	Origin string
	// State of its content.
	State State
	// NameServers in order, the first of them the SOA's; each in lower case with a dot at its end.
	NameServers []string
	// Mailbox of the SOA.
	Mailbox string
	// Index of the zone in Table.Zones.
	Index int
}
