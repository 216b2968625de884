// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-io/weir/resview/pb"
)

// LoadOf returns what the statistics of a pod say; nil where they are not known. UID is empty where it is not known.
type LoadOf func(namespace, name, uid string) *pb.Load

// WithLoads returns facts of a Service with the load of each pod filled in. It changes nothing of what it was given, and
// shares with it what it does not fill in.
func WithLoads(facts *pb.ServiceFacts, load LoadOf) *pb.ServiceFacts {
	out := shallow(facts)
	out.Pods = make([]*pb.Pod, len(facts.GetPods()))
	for i, p := range facts.GetPods() {
		out.Pods[i] = shallow(p)
		out.Pods[i].Load = load(facts.GetRef().GetNamespace(), p.GetName(), p.GetUid())
	}
	return out
}

// WithGatewayLoads is WithLoads for the gateways of a member.
func WithGatewayLoads(facts *pb.MemberFacts, load LoadOf) *pb.MemberFacts {
	out := shallow(facts)
	out.Gateways = make([]*pb.GatewayFacts, len(facts.GetGateways()))
	for i, g := range facts.GetGateways() {
		namespace, name, _ := strings.Cut(g.GetName(), "/")
		out.Gateways[i] = shallow(g)
		out.Gateways[i].Load = load(namespace, name, "")
	}
	return out
}

// shallow copies a message, but not what it holds.
func shallow[M proto.Message](m M) M {
	from := m.ProtoReflect()
	to := from.New()
	from.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(f, v)
		return true
	})
	return to.Interface().(M)
}
