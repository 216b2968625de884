// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/resview/pb"
)

func repeated[T any](n int, make func(int) T) []T {
	out := empty[T](n)
	for i := range n {
		out = append(out, make(i))
	}
	return out
}

func empty[T any](n int) []T { return make([]T, 0, n) }

func serviceWith(change func(*pb.ServiceFacts)) *pb.AgentMessage {
	s := service("cart", "1")
	change(s)
	return &pb.AgentMessage{Sequence: 2, Body: &pb.AgentMessage_Service{Service: s}}
}

func memberWith(change func(*pb.MemberFacts)) *pb.AgentMessage {
	m := &pb.MemberFacts{}
	change(m)
	return &pb.AgentMessage{Sequence: 2, Body: &pb.AgentMessage_Member{Member: m}}
}

func proofWith(change func(*pb.Verdict)) *pb.AgentMessage {
	v := &pb.Verdict{Level: "None"}
	change(v)
	return &pb.AgentMessage{Sequence: 2, Body: &pb.AgentMessage_Proof{Proof: &pb.ProofFacts{Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Fence: v}}}
}

func podWith(change func(*pb.Pod)) *pb.AgentMessage {
	return serviceWith(func(s *pb.ServiceFacts) {
		p := &pb.Pod{Name: "cart-1", Load: &pb.Load{}}
		change(p)
		s.Pods = []*pb.Pod{p}
	})
}

func budgetWith(change func(*pb.DisruptionBudget)) *pb.AgentMessage {
	return serviceWith(func(s *pb.ServiceFacts) {
		b := &pb.DisruptionBudget{Name: "cart"}
		change(b)
		s.Budgets = []*pb.DisruptionBudget{b}
	})
}

// hostile are messages that break one rule each.
func hostile() map[string]*pb.AgentMessage {
	long := strings.Repeat("a", 254)
	return map[string]*pb.AgentMessage{
		"nothing":           {Sequence: 2},
		"hello again":       {Sequence: 2, Body: hello(5).GetBody()},
		"sequence repeated": {Sequence: 1, Body: &pb.AgentMessage_Beat{Beat: &pb.Beat{}}},
		"sequence skipped":  {Sequence: 9, Body: &pb.AgentMessage_Beat{Beat: &pb.Beat{}}},
		"service unnamed":   serviceWith(func(s *pb.ServiceFacts) { s.Ref = nil }),
		"name too long":     serviceWith(func(s *pb.ServiceFacts) { s.Ref.Name = long }),
		"name with a path":  serviceWith(func(s *pb.ServiceFacts) { s.Ref.Name = "../c2" }),
		"name with a slash": serviceWith(func(s *pb.ServiceFacts) { s.Ref.Namespace = "a/b" }),
		"unknown type":      serviceWith(func(s *pb.ServiceFacts) { s.Type = "Magic" }),
		"escape sequence":   serviceWith(func(s *pb.ServiceFacts) { s.SessionAffinity = "\x1b[2J" }),
		"no address":        serviceWith(func(s *pb.ServiceFacts) { s.ClusterIp = "localhost" }),
		"negative time":     serviceWith(func(s *pb.ServiceFacts) { s.CreatedUnix = -1 }),
		"negative port":     serviceWith(func(s *pb.ServiceFacts) { s.Ports = []*pb.Port{{Port: -1}} }),
		"huge port":         serviceWith(func(s *pb.ServiceFacts) { s.Ports = []*pb.Port{{TargetPort: 65536}} }),
		"many ports":        serviceWith(func(s *pb.ServiceFacts) { s.Ports = repeated(251, func(int) *pb.Port { return &pb.Port{} }) }),
		"many pods": serviceWith(func(s *pb.ServiceFacts) {
			s.Pods = repeated(5001, func(i int) *pb.Pod { return &pb.Pod{Name: fmt.Sprintf("p%d", i)} })
		}),
		"many annotations": serviceWith(func(s *pb.ServiceFacts) {
			s.Annotations = map[string]string{}
			for i := range 65 {
				s.Annotations[fmt.Sprint(i)] = ""
			}
		}),
		"long annotation":   serviceWith(func(s *pb.ServiceFacts) { s.Annotations = map[string]string{"weir.io/ttl": strings.Repeat("x", 4097)} }),
		"negative replicas": serviceWith(func(s *pb.ServiceFacts) { s.Workloads = []*pb.WorkloadFacts{{Replicas: -1}} }),
		"huge replicas":     serviceWith(func(s *pb.ServiceFacts) { s.Workloads = []*pb.WorkloadFacts{{Ready: math.MaxInt32}} }),
		"rule is not JSON":  serviceWith(func(s *pb.ServiceFacts) { s.Rules = []*pb.Rule{{Object: []byte("{")}} }),
		"rule too big":      serviceWith(func(s *pb.ServiceFacts) { s.Rules = []*pb.Rule{{Object: bytes.Repeat([]byte(" "), 64<<10+1)}} }),
		"many rules": serviceWith(func(s *pb.ServiceFacts) {
			s.Rules = repeated(257, func(int) *pb.Rule { return &pb.Rule{Object: []byte("{}")} })
		}),
		"message too big": serviceWith(func(s *pb.ServiceFacts) {
			s.Rules = repeated(65, func(int) *pb.Rule { return &pb.Rule{Object: bytes.Repeat([]byte(" "), 64<<10)} })
		}),
		"many budgets": serviceWith(func(s *pb.ServiceFacts) {
			s.Budgets = repeated(17, func(int) *pb.DisruptionBudget { return &pb.DisruptionBudget{} })
		}),
		"negative budget":           budgetWith(func(b *pb.DisruptionBudget) { b.Amount = -1 }),
		"huge budget":               budgetWith(func(b *pb.DisruptionBudget) { b.Amount = math.MaxInt32 }),
		"budget over all":           budgetWith(func(b *pb.DisruptionBudget) { b.Amount, b.Percent = 101, true }),
		"long budget name":          budgetWith(func(b *pb.DisruptionBudget) { b.Name = long }),
		"huge others":               budgetWith(func(b *pb.DisruptionBudget) { b.OtherPods = math.MaxInt32 }),
		"more ready than there are": budgetWith(func(b *pb.DisruptionBudget) { b.OtherPods, b.OtherReady = 1, 2 }),
		"pod unnamed":               podWith(func(p *pb.Pod) { p.Name = "" }),
		"pod without an IP":         podWith(func(p *pb.Pod) { p.Ip = "10.0.0.256" }),
		"negative fence":            podWith(func(p *pb.Pod) { p.FenceGeneration = -1 }),
		"long selector":             serviceWith(func(s *pb.ServiceFacts) { s.Selector = map[string]string{"app": strings.Repeat("x", 254)} }),
		"bad rules verdict": {Sequence: 2, Body: &pb.AgentMessage_Proof{Proof: &pb.ProofFacts{
			Ref: &pb.ServiceRef{Namespace: "shop", Name: "cart"}, Rules: &pb.Verdict{Level: "Surely"},
		}}},
		"negative age":       podWith(func(p *pb.Pod) { p.Load.AgeMs = -1 }),
		"age for ever":       podWith(func(p *pb.Pod) { p.Load.AgeMs = math.MaxInt64 }),
		"rate is no number":  podWith(func(p *pb.Pod) { p.Load.Rate = new(math.NaN()) }),
		"rate is infinite":   podWith(func(p *pb.Pod) { p.Load.Rate = new(math.Inf(1)) }),
		"rate is negative":   podWith(func(p *pb.Pod) { p.Load.Rate = new(-1.0) }),
		"huge arrivals":      podWith(func(p *pb.Pod) { p.Load.Arrivals = math.MaxUint64 }),
		"huge in flight":     podWith(func(p *pb.Pod) { p.Load.InFlight = math.MaxUint64 }),
		"many callers":       podWith(func(p *pb.Pod) { p.Load.Callers = repeated(51, func(int) string { return "x" }) }),
		"many istiods":       memberWith(func(m *pb.MemberFacts) { m.Istiods = repeated(65, func(int) *pb.Istiod { return &pb.Istiod{} }) }),
		"many missing":       memberWith(func(m *pb.MemberFacts) { m.MissingProxies = repeated(201, func(int) string { return "x" }) }),
		"long missing":       memberWith(func(m *pb.MemberFacts) { m.MissingProxies = []string{strings.Repeat("x", 1025)} }),
		"huge count":         memberWith(func(m *pb.MemberFacts) { m.ConnectedProxies = math.MaxUint32 }),
		"unknown severity":   memberWith(func(m *pb.MemberFacts) { m.Findings = []*pb.Finding{{Severity: "Fatal"}} }),
		"odd gateway":        memberWith(func(m *pb.MemberFacts) { m.Gateways = []*pb.GatewayFacts{{Addresses: []string{"a b"}}} }),
		"unknown level":      proofWith(func(v *pb.Verdict) { v.Level = "Certain" }),
		"negative proof age": proofWith(func(v *pb.Verdict) { v.AgeMs = -5 }),
		"negative generation": proofWith(func(v *pb.Verdict) {
			v.Generation = -1
		}),
		"many proxies": proofWith(func(v *pb.Verdict) {
			v.Istiods = []*pb.IstiodVerdict{{Proxies: repeated(201, func(int) *pb.ProxyVerdict { return &pb.ProxyVerdict{} })}}
		}),
		"many APIs":    served(repeated(5001, func(int) string { return "v1/Pod" })...),
		"no API":       served("Pod"),
		"many reasons": proofWith(func(v *pb.Verdict) { v.Reasons = repeated(51, func(int) *pb.Missing { return &pb.Missing{} }) }),
	}
}

func TestHostileMessageEndsItsOwnSessionOnly(t *testing.T) {
	for name, message := range hostile() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t)
				other := h.startAgent("c2")
				r := h.raw("c1", hello(1))
				wait(time.Second)
				since := h.Snapshot("c2").Since
				_ = r.stream.Send(message) // Recv tells what came of it.
				refusal, err := r.refusal()
				if err != nil {
					t.Fatal(err)
				}
				if c := refusal.GetCode(); c != codeInvalid && c != codeTooMuch || refusal.GetReason() == "" {
					t.Errorf("refusal is %v, want Invalid or TooMuch with a reason", refusal)
				}
				wait(time.Second)
				if s := h.Snapshot("c1"); s.Connected || s.Reason == "" || len(s.Services) != 0 {
					t.Errorf("snapshot is %+v, want it without a session, with the reason and no facts", s)
				}
				other.set(service("pay", "1"))
				wait(time.Second)
				if s := h.Snapshot("c2"); !s.Connected || !s.Since.Equal(since) || len(s.Services) != 1 {
					t.Errorf("the other member suffered: %+v", s)
				}
			})
		})
	}
}

func TestClientRefusesToSendWhatTheHubWould(t *testing.T) {
	config := (&hub{authority: &Authority{}, network: newNetwork()}).config("c1", "", &memoryVault{})
	client, err := NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, message := range hostile() {
		var err error
		switch body := message.GetBody().(type) {
		case *pb.AgentMessage_Service:
			err = client.SetService(body.Service)
		case *pb.AgentMessage_Member:
			err = client.SetMember(body.Member)
		case *pb.AgentMessage_Proof:
			err = client.SetProof(body.Proof)
		default:
			continue // The client makes these itself.
		}
		if err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if n := client.outbox.waiting(); n != 0 {
		t.Errorf("%d messages wait to be sent", n)
	}
}

func TestFactsOfEarlierSessionsOutliveAHostileOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		a := h.startAgent("c1")
		a.set(service("cart", "1"))
		a.InventoryListed()
		wait(time.Second)
		a.halt()
		r := h.raw("c1", hello(math.MaxUint64))
		_ = r.stream.Send(serviceWith(func(s *pb.ServiceFacts) { s.ResourceVersion = "2"; s.Type = "" }))
		if _, err := r.refusal(); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		if got := versions(h.Snapshot("c1")); got["cart"] != "1" {
			t.Errorf("services are %v, want cart as it was", got)
		}
	})
}

func TestMemberCanNotFillTheHubsMemory(t *testing.T) {
	t.Run("by services", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := startHub(t)
			r := h.raw("c1", hello(1))
			for i := range maxServices + 1 {
				if r.stream.Send(&pb.AgentMessage{Sequence: uint64(i + 2), Body: &pb.AgentMessage_Service{Service: service(fmt.Sprintf("s%d", i), "1")}}) != nil {
					break
				}
			}
			refusal, err := r.refusal()
			if err != nil || refusal.GetCode() != codeTooMuch {
				t.Fatalf("refusal is %v (%v), want TooMuch", refusal, err)
			}
			wait(time.Second)
			if n := len(h.Snapshot("c1").Services); n > maxServices {
				t.Errorf("%d services are kept", n)
			}
		})
	})
	t.Run("by bytes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := startHub(t)
			r := h.raw("c1", hello(1))
			for i := range 30 {
				s := service(fmt.Sprintf("s%d", i), "1")
				s.Rules = repeated(60, func(int) *pb.Rule { return &pb.Rule{Object: bytes.Repeat([]byte("1"), 64<<10)} })
				if r.stream.Send(&pb.AgentMessage{Sequence: uint64(i + 2), Body: &pb.AgentMessage_Service{Service: s}}) != nil {
					break
				}
			}
			refusal, err := r.refusal()
			if err != nil || refusal.GetCode() != codeTooMuch {
				t.Fatalf("refusal is %v (%v), want TooMuch", refusal, err)
			}
			wait(time.Second)
			total := 0
			for _, fact := range h.Snapshot("c1").Services {
				total += proto.Size(fact.Value)
			}
			if total > maxMemberBytes+maxMessageBytes {
				t.Errorf("%d MiB are kept", total>>20)
			}
		})
	})
}

func TestFloodIsReadSlowlyAndHurtsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		other := h.startAgent("c2")
		r := h.raw("c1", hello(1))
		const extra = 2 * messagesPerSecond
		go func() {
			for i := range messagesBurst + extra {
				if r.stream.Send(&pb.AgentMessage{Sequence: uint64(i + 2), Body: &pb.AgentMessage_Beat{Beat: &pb.Beat{}}}) != nil {
					return // The count below shows it.
				}
			}
		}()
		taken := func() int { return int(testutil.ToFloat64(h.metrics.messages.WithLabelValues("beat"))) }
		wait(time.Second)
		if got := taken(); got > messagesBurst+messagesPerSecond+10 {
			t.Errorf("%d messages were taken in a second", got)
		}
		other.set(service("pay", "1"))
		wait(time.Second)
		if s := h.Snapshot("c2"); !s.Connected || len(s.Services) != 1 {
			t.Errorf("the other member suffered: %+v", s)
		}
		wait(2 * time.Second)
		if got := taken(); got < messagesBurst+extra {
			t.Errorf("%d of %d messages were taken in the end", got, messagesBurst+extra)
		}
	})
}

func TestMemberThatOpensSessionsInALoopIsTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		client := pb.NewMemberLinkClient(h.connect(h.identity("c1")))
		open := func() error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := client.Session(ctx)
			if err != nil {
				return err
			}
			if err := stream.Send(hello(1)); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			message, err := stream.Recv()
			if err == nil && message.GetRefusal() != nil {
				_, err = stream.Recv()
			}
			return err
		}
		refused := 0
		for range 3 * sessionsBurst {
			if status.Code(open()) == codes.ResourceExhausted {
				refused++
			}
		}
		if refused < sessionsBurst {
			t.Errorf("%d of %d sessions at once were refused", refused, 3*sessionsBurst)
		}
		wait(time.Minute)
		if err := open(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestSilentPeerIsTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		stream, err := pb.NewMemberLinkClient(h.connect(h.identity("c1"))).Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = stream.Recv()
		if status.Code(err) != codes.InvalidArgument || time.Since(start) > helloTimeout+time.Second {
			t.Errorf("session without a hello ended after %s with %v", time.Since(start), err)
		}
	})
}

// A frame of zeros shrinks a thousandfold and more: what a few bytes unfold to must be bounded before it is unfolded.
func TestSmallMessageThatUnfoldsToALotIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		r := h.raw("c1", hello(1))
		wait(time.Second)
		s := service("cart", "1")
		s.Annotations = map[string]string{"weir.io/x": strings.Repeat("a", 64<<20)}
		_ = r.stream.Send(&pb.AgentMessage{Sequence: 2, Body: &pb.AgentMessage_Service{Service: s}})
		refusal, err := r.refusal()
		if err != nil || refusal.GetCode() != codeTooMuch {
			t.Errorf("refusal is %v (%v), want TooMuch", refusal, err)
		}
	})
}

func TestCompressorGivesBackWhatItTook(t *testing.T) {
	c := newCompressor()
	for round := range 3 { // From the second on with a coder that was used.
		for _, size := range []int{0, 1, 1000, maxMessageBytes} {
			want := bytes.Repeat([]byte{byte(round + 1)}, size)
			var packed bytes.Buffer
			w, err := c.Compress(&packed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(want); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := c.Decompress(&packed)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if _, err := got.ReadFrom(r); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d bytes became %d (%v)", size, got.Len(), err)
			}
			if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("a message that was read to its end gave %d more bytes (%v)", n, err)
			}
		}
	}
}
