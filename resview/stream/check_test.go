// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-io/weir/resview/pb"
)

func TestNamesAreDNSSubdomains(t *testing.T) {
	for name, ok := range map[string]bool{
		"c1": true, "a": true, "0": true, "a-b.c-d": true, strings.Repeat("a", 253): true,
		"": false, strings.Repeat("a", 254): false, "-a": false, "a-": false, "a..b": false, ".a": false, "a.": false,
		"A": false, "a_b": false, "a b": false, "a/b": false, "ä": false, "a\x00": false, "a.-b": false,
	} {
		if err := checkName("cluster", name); (err == nil) != ok {
			t.Errorf("%q: %v, want accepted: %t", clip(name), err, ok)
		}
	}
}

func TestOrdinaryMessagesAreAccepted(t *testing.T) {
	verdict := &pb.Verdict{Level: "Proven", Generation: 3, AgeMs: 20, Istiods: []*pb.IstiodVerdict{{Name: "istiod-1", Push: "2026-01-01T00:00:00Z/12", ProxyCount: 1, Proxies: []*pb.ProxyVerdict{{Name: "cart-1.shop", Acked: "12"}}}}}
	for name, message := range map[string]*pb.AgentMessage{
		"hello": hello(1),
		"beat":  {Body: &pb.AgentMessage_Beat{Beat: &pb.Beat{}}},
		"end":   {Body: &pb.AgentMessage_InventoryEnd{InventoryEnd: &pb.InventoryEnd{}}},
		"gone":  {Body: &pb.AgentMessage_Gone{Gone: &pb.ServiceGone{Ref: &pb.ServiceRef{Namespace: "a", Name: "b"}}}},
		"proof": {Body: &pb.AgentMessage_Proof{Proof: &pb.ProofFacts{Ref: &pb.ServiceRef{Namespace: "a", Name: "b"}, Weights: verdict, Fence: verdict}}},
		"member": memberWith(func(m *pb.MemberFacts) {
			m.Gateways = []*pb.GatewayFacts{{Name: "istio-system/gw-1", Addresses: []string{"10.0.0.1", "gw.example.com", "fd00::1"}}}
		}),
		"served": served("apps/v1/Deployment", "v1/Pod"),
		"service": serviceWith(func(s *pb.ServiceFacts) {
			s.ClusterIp = "fd00::1"
			s.Annotations = map[string]string{"weir.io/global": "true", "weir.io/note": "two\nlines"}
			s.Pods = []*pb.Pod{{Name: "cart-1", Ip: "10.0.0.1", Workload: "Deployment/cart", Load: &pb.Load{Rate: new(2.5)}}, {Name: "cart-2"}}
			s.Rules = []*pb.Rule{{Kind: "VirtualService", Object: []byte(`{"spec":{}}`)}}
			s.Budgets = []*pb.DisruptionBudget{{Name: "cart", Amount: 100, Percent: true, OtherPods: 3, OtherReady: 3}, {Name: "2 more", Unavailable: true}}
		}),
	} {
		if why := check(message); why != nil {
			t.Errorf("%s: refused: %s", name, why.reason)
		}
	}
}

// FuzzCheck looks at whatever passes with an eye of its own: it walks the message by reflection and knows nothing of its
// fields.
func FuzzCheck(f *testing.F) {
	for _, message := range hostile() {
		if raw, err := proto.Marshal(message); err == nil && len(raw) < 10_000 {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var message pb.AgentMessage
		if proto.Unmarshal(raw, &message) != nil || check(&message) != nil {
			return
		}
		walk(t, message.ProtoReflect(), 0)
	})
}

func walk(t *testing.T, m protoreflect.Message, depth int) {
	t.Helper()
	if depth > 8 {
		t.Fatal("message nests without end")
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList():
			if n := value.List().Len(); n > 5000 {
				t.Errorf("%s has %d elements", field.FullName(), n)
			}
			for i := range value.List().Len() {
				walkValue(t, field, value.List().Get(i), depth)
			}
		case field.IsMap():
			if n := value.Map().Len(); n > 1000 {
				t.Errorf("%s has %d elements", field.FullName(), n)
			}
			value.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				walkValue(t, field.MapKey(), k.Value(), depth)
				walkValue(t, field.MapValue(), v, depth)
				return true
			})
		default:
			walkValue(t, field, value, depth)
		}
		return true
	})
}

func walkValue(t *testing.T, field protoreflect.FieldDescriptor, value protoreflect.Value, depth int) {
	t.Helper()
	switch field.Kind() {
	case protoreflect.MessageKind:
		walk(t, value.Message(), depth+1)
	case protoreflect.StringKind:
		if len(value.String()) > 4096 {
			t.Errorf("%s has %d characters", field.FullName(), len(value.String()))
		}
	case protoreflect.BytesKind:
		if len(value.Bytes()) > 64<<10 {
			t.Errorf("%s has %d bytes", field.FullName(), len(value.Bytes()))
		}
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		if value.Int() < 0 {
			t.Errorf("%s is %d", field.FullName(), value.Int())
		}
	case protoreflect.DoubleKind:
		if f := value.Float(); !(f >= 0 && f < 1e13) {
			t.Errorf("%s is %g", field.FullName(), f)
		}
	case protoreflect.Uint64Kind:
		if field.Name() != "sequence" && field.Name() != "incarnation" && int64(value.Uint()) < 0 {
			t.Errorf("%s is %d", field.FullName(), value.Uint())
		}
	default: // Booleans and small numbers have no bad values.
	}
}
