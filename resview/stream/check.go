// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/weir-io/weir/resview/pb"
)

// check decides whether a message from an agent may be taken in. It looks at every field: what passes is bounded in
// length and number, counts are not negative, and names are names. It says nothing about truth; a member may lie about
// itself, and only about itself.
func check(message *pb.AgentMessage) *refusal {
	switch body := message.GetBody().(type) {
	case *pb.AgentMessage_Hello:
		return checkHello(body.Hello)
	case *pb.AgentMessage_Beat, *pb.AgentMessage_InventoryEnd:
		return nil
	case *pb.AgentMessage_Member:
		return checkMember(body.Member)
	case *pb.AgentMessage_Service:
		return checkService(body.Service)
	case *pb.AgentMessage_Gone:
		return checkRef(body.Gone.GetRef())
	case *pb.AgentMessage_Proof:
		return checkProof(body.Proof)
	case *pb.AgentMessage_Snapshot:
		return checkSnapshot(body.Snapshot)
	case *pb.AgentMessage_Update:
		return checkUpdate(body.Update)
	case *pb.AgentMessage_Served:
		return checkServed(body.Served)
	default:
		return invalid("message of an unknown kind")
	}
}

func checkHello(h *pb.Hello) *refusal {
	if h.GetIncarnation() == 0 {
		return invalid("hello: incarnation is zero")
	}
	return firstOf(
		text("agent_version", h.GetAgentVersion(), maxName),
		text("kubernetes_version", h.GetKubernetesVersion(), maxName),
		text("istio_cluster_id", h.GetIstioClusterId(), maxName),
		text("network", h.GetNetwork(), maxName),
	)
}

func checkRef(ref *pb.ServiceRef) *refusal {
	if err := checkName("service namespace", ref.GetNamespace()); err != nil {
		return invalid("%s", err)
	}
	if err := checkName("service name", ref.GetName()); err != nil {
		return invalid("%s", err)
	}
	return nil
}

// checkName accepts a DNS subdomain by RFC 1123, as Kubernetes does for the names of objects.
func checkName(what, name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%s of %d characters, want 1 to %d", what, len(name), maxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return fmt.Errorf("%s %q: only lower-case letters, digits, '-' and '.' are allowed, and '-' only between others", what, clip(name))
		}
	}
	return nil
}

func isLabel(s string) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, r := range s {
		if r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

func firstOf(refusals ...*refusal) *refusal {
	for _, r := range refusals {
		if r != nil {
			return r
		}
	}
	return nil
}

// each checks every element of a list that may hold limit of them.
func each[T any](what string, list []T, limit int, one func(T) *refusal) *refusal {
	if len(list) > limit {
		return tooMuch("%s: %d of them, %d at most", what, len(list), limit)
	}
	for _, v := range list {
		if r := one(v); r != nil {
			return r
		}
	}
	return nil
}

// text accepts a line that may be shown: no control characters, since it may end in a terminal.
func text(what, s string, limit int) *refusal {
	if len(s) > limit {
		return tooMuch("%s: %d characters, %d at most", what, len(s), limit)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
		return invalid("%s: control characters are not allowed", what)
	}
	return nil
}

func texts(what string, list []string, limit, length int) *refusal {
	return each(what, list, limit, func(s string) *refusal { return text(what, s, length) })
}

func pairs(what string, m map[string]string, limit, value int) *refusal {
	if len(m) > limit {
		return tooMuch("%s: %d of them, %d at most", what, len(m), limit)
	}
	for k, v := range m {
		// A value may hold line breaks: an annotation is a user's text, and only readers that show it must escape it.
		if len(v) > value {
			return tooMuch("%s: value of %d characters, %d at most", what, len(v), value)
		}
		if r := text(what, k, maxName+64); r != nil { // A qualified name: prefix/name.
			return r
		}
	}
	return nil
}

func count[N int32 | int64](what string, n N, most int64) *refusal {
	if n < 0 || int64(n) > most {
		return invalid("%s: %d is not between 0 and %d", what, n, most)
	}
	return nil
}

func ucount[N uint32 | uint64](what string, n N, most uint64) *refusal {
	if uint64(n) > most {
		return invalid("%s: %d is over %d", what, n, most)
	}
	return nil
}

func address(what, s string) *refusal {
	if s == "" {
		return nil
	}
	if _, err := netip.ParseAddr(s); err != nil {
		return invalid("%s: %q is no IP address", what, clip(s))
	}
	return nil
}

// anyAddress accepts what a gateway is reached by: an IP address or a host name.
func anyAddress(what, s string) *refusal {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	if err := checkName(what, s); err != nil {
		return invalid("%s", err)
	}
	return nil
}

func finite(what string, f float64) *refusal {
	if math.IsNaN(f) || f < 0 || f > math.MaxInt32*1000 {
		return invalid("%s: %g is no rate", what, f)
	}
	return nil
}
