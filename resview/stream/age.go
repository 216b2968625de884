// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/resview/pb"
)

// aged returns the message as it is to be sent some time after it was set: evidence has grown older meanwhile, above all
// over a reconnect, and must not look fresh to the hub. The message itself is not changed.
func aged(message *pb.AgentMessage, by time.Duration) *pb.AgentMessage {
	ms := by.Milliseconds()
	if ms <= 0 {
		return message
	}
	switch body := message.GetBody().(type) {
	case *pb.AgentMessage_Proof:
		out := proto.CloneOf(message)
		for _, v := range verdicts(out.GetProof()) {
			v.AgeMs = older(v.GetAgeMs(), ms)
		}
		return out
	case *pb.AgentMessage_Service:
		if !anyLoad(body.Service.GetPods()) {
			return message
		}
		out := proto.CloneOf(message)
		for _, p := range out.GetService().GetPods() {
			growOlder(p.GetLoad(), ms)
		}
		return out
	case *pb.AgentMessage_Member:
		out := proto.CloneOf(message)
		for _, g := range out.GetMember().GetGateways() {
			growOlder(g.GetLoad(), ms)
		}
		return out
	}
	return message
}

func verdicts(p *pb.ProofFacts) []*pb.Verdict {
	var out []*pb.Verdict
	for _, v := range []*pb.Verdict{p.GetRules(), p.GetWeights(), p.GetFence()} {
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}

func anyLoad(pods []*pb.Pod) bool {
	for _, p := range pods {
		if p.GetLoad() != nil {
			return true
		}
	}
	return false
}

func growOlder(l *pb.Load, ms int64) {
	if l != nil {
		l.AgeMs = older(l.GetAgeMs(), ms)
	}
}

// older adds without going over what the hub accepts.
func older(age, ms int64) int64 { return min(age+ms, maxAgeMillis) }
