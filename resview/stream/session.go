// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/resview/pb"
)

// session is one agent's stay, at the hub. Three goroutines serve it: one receives, one sends, and the handler waits
// for the first thing that ends it. The handler must stay free, since only its return unblocks the other two.
type session struct {
	server      *Server
	member      *member
	stream      pb.MemberLink_SessionServer
	incarnation uint64
	applied     uint64 // sequence of the last applied message; guarded by mu

	mu       sync.Mutex
	why      *refusal
	over     chan struct{}
	newWants chan struct{}
	newAcks  chan struct{}
}

// memberLink is the Server as gRPC sees it.
type memberLink struct {
	pb.UnimplementedMemberLinkServer
	*Server
}

// Session serves one agent until it leaves, breaks a rule, is replaced, or the hub stops.
func (l *memberLink) Session(stream pb.MemberLink_SessionServer) error {
	s := l.Server
	cluster, err := s.identify(stream.Context(), 0)
	if err != nil {
		return err
	}
	m := s.member(cluster)
	if m == nil {
		return s.refuse(stream, cluster, &refusal{code: codeNotRegistered, reason: notRegistered(cluster)})
	}
	if !m.opens.AllowN(s.now(), 1) {
		return s.refuse(stream, cluster, tooMuch("more than %d sessions at once and %d a second", sessionsBurst, sessionsPerSecond))
	}
	sess := &session{
		server: s, member: m, stream: stream,
		over: make(chan struct{}), newWants: make(chan struct{}, 1), newAcks: make(chan struct{}, 1),
	}
	first := make(chan *refusal, 1)
	s.readers.Go(func() { sess.receive(first) })

	select {
	case why := <-first:
		if why != nil {
			m.refused(why.reason)
			return s.refuse(stream, cluster, why)
		}
	case <-time.After(helloTimeout):
		return s.abandon(sess, invalid("no hello within %s", helloTimeout))
	case <-stream.Context().Done():
		return s.abandon(sess, &refusal{reason: "connection lost"})
	case <-s.stopping:
		return s.abandon(sess, stopping)
	}
	return s.serve(sess, cluster)
}

// abandon ends a session that may be beginning just now: either begin sees the reason, or it was earlier and is undone.
func (s *Server) abandon(sess *session, why *refusal) error {
	sess.end(why)
	sess.member.end(sess, why.reason)
	return status.Error(why.grpcCode(), why.reason)
}

var stopping = &refusal{code: codeStopping, reason: "the hub stops"}

// serve waits for the end of a session that has begun, and says why it ended.
func (s *Server) serve(sess *session, cluster string) error {
	s.metrics.connected.Inc()
	defer s.metrics.connected.Dec()
	s.log.Info("agent connected", "cluster", cluster, "incarnation", sess.incarnation)
	sent := make(chan struct{})
	s.readers.Go(func() { defer close(sent); sess.send() })

	select {
	case <-sess.over:
	case <-s.stopping:
		sess.end(stopping)
	case <-sess.stream.Context().Done():
		sess.end(&refusal{reason: "connection lost"})
	}
	// The sender says the refusal; one that does not get it out in time must not keep the session alive.
	select {
	case <-sent:
	case <-time.After(refusalTimeout):
	}
	why := sess.reason()
	sess.member.end(sess, why.reason)
	s.log.Info("agent disconnected", "cluster", cluster, "code", why.code, "reason", why.reason)
	if why.code == "" {
		return nil
	}
	s.metrics.refusals.WithLabelValues(why.code).Inc()
	return status.Error(why.grpcCode(), clip(why.reason))
}

// refuse turns an agent away that has no session.
func (s *Server) refuse(stream pb.MemberLink_SessionServer, cluster string, why *refusal) error {
	s.metrics.refusals.WithLabelValues(why.code).Inc()
	s.log.Info("agent refused", "cluster", cluster, "code", why.code, "reason", why.reason)
	if err := stream.Send(why.message()); err != nil {
		return err
	}
	return status.Error(why.grpcCode(), clip(why.reason))
}

func (r *refusal) grpcCode() codes.Code {
	switch r.code {
	case codeInvalid:
		return codes.InvalidArgument
	case codeTooMuch:
		return codes.ResourceExhausted
	case codeNotRegistered:
		return codes.PermissionDenied
	case codeStopping:
		return codes.Unavailable
	default:
		return codes.Aborted
	}
}

// end asks the session to end; the first reason counts.
func (s *session) end(why *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = why
		close(s.over)
	}
}

func (s *session) reason() *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

func (s *session) wakeTargets() {
	select {
	case s.newWants <- struct{}{}:
	default: // It will read the newest list anyway.
	}
}

// wakeAck has it said where the hub stands with the member's nodes.
func (s *session) wakeAck() {
	select {
	case s.newAcks <- struct{}{}:
	default: // What is sent is how things stand then.
	}
}

// receive reads, checks and applies the agent's messages. It reports on first whether the session has begun.
func (s *session) receive(first chan<- *refusal) {
	bytes := rate.NewLimiter(bytesPerSecond, bytesBurst)
	messages := rate.NewLimiter(messagesPerSecond, messagesBurst)
	ctx := s.stream.Context()
	for sequence := uint64(1); ; sequence++ {
		message, err := s.stream.Recv()
		if err != nil {
			why := received(err)
			if sequence == 1 {
				first <- why
			}
			s.end(why)
			return
		}
		why := s.take(message, sequence)
		if sequence == 1 {
			first <- why
		}
		if why != nil {
			s.end(why)
			return
		}
		// Waiting here is what slows the agent down: the transport's window fills and its sends block.
		if bytes.WaitN(ctx, proto.Size(message)) != nil || messages.Wait(ctx) != nil {
			s.end(&refusal{reason: "connection lost"})
			return
		}
	}
}

func received(err error) *refusal {
	switch code := status.Code(err); {
	case errors.Is(err, io.EOF):
		return &refusal{reason: "agent left"}
	case code == codes.ResourceExhausted:
		return tooMuch("message of more than %d MiB", maxMessageBytes>>20)
	case code == codes.Canceled, code == codes.Unavailable:
		return &refusal{reason: "connection lost"}
	default:
		return invalid("unreadable message: %s", clip(status.Convert(err).Message()))
	}
}

// take checks one message and applies it.
func (s *session) take(message *pb.AgentMessage, sequence uint64) *refusal {
	if got := message.GetSequence(); got != sequence {
		return invalid("sequence %d, want %d", got, sequence)
	}
	if why := check(message); why != nil {
		return why
	}
	hello := message.GetHello()
	if (hello != nil) != (sequence == 1) {
		return invalid("hello must be the first message, and only the first")
	}
	s.server.metrics.messages.WithLabelValues(bodyName(message)).Inc()
	var why *refusal
	if hello != nil {
		why = s.member.begin(s, hello)
	} else {
		why = s.member.apply(s, message)
	}
	if why == nil {
		s.mu.Lock()
		s.applied = sequence
		s.mu.Unlock()
	}
	return why
}

// send welcomes the agent, keeps it supplied with targets and acknowledgements, and last tells it why it must go.
func (s *session) send() {
	if err := s.welcome(); err != nil {
		s.end(&refusal{reason: "connection lost"})
		return
	}
	ticker := time.NewTicker(ackInterval)
	defer ticker.Stop()
	if s.member.wants() {
		s.wakeTargets()
	}
	s.wakeAck()
	for {
		var message *pb.HubMessage
		select {
		case <-s.over:
			if why := s.reason(); why.code != "" {
				_ = s.stream.Send(why.message()) // It is a courtesy: the status says it again.
			}
			return
		case <-s.newWants:
			message = &pb.HubMessage{Body: &pb.HubMessage_Targets{Targets: &pb.Targets{Targets: s.member.wantedTargets()}}}
		case <-s.newAcks:
			message = s.member.ackNodes()
		case <-ticker.C:
			message = s.tick()
		}
		if err := s.stream.Send(message); err != nil {
			s.end(&refusal{reason: "connection lost"})
			return
		}
	}
}

// tick is what is said without a cause: an acknowledgement, or instead of it a question when a beat is late.
func (s *session) tick() *pb.HubMessage {
	if s.member.beatLate() {
		return &pb.HubMessage{Body: &pb.HubMessage_HealthCheck{HealthCheck: &pb.HealthCheck{}}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pb.HubMessage{Body: &pb.HubMessage_Ack{Ack: &pb.Ack{Sequence: s.applied}}}
}

func (s *session) welcome() error {
	s.member.mu.Lock()
	interval := s.member.settings.BeatInterval
	s.member.mu.Unlock()
	return s.stream.Send(&pb.HubMessage{Body: &pb.HubMessage_Welcome{Welcome: &pb.Welcome{
		HubUid:         s.server.config.HubUID,
		Cluster:        s.member.cluster,
		BeatIntervalMs: interval.Milliseconds(),
	}}})
}

// identify returns the member that the peer's certificate speaks for.
func (s *Server) identify(ctx context.Context, grace time.Duration) (string, error) {
	leaf, err := peerCertificate(ctx)
	if err != nil {
		return "", err
	}
	cluster, err := s.config.Authority.verify(leaf, s.now(), grace)
	if err != nil {
		return "", status.Error(codes.Unauthenticated, clip(err.Error()))
	}
	if m := s.member(cluster); m != nil && m.registration != leaf.Subject.SerialNumber {
		return "", status.Error(codes.Unauthenticated, "this certificate is of an earlier registration of cluster "+cluster+
			": make a token with `kubectl weir join` and hand it to the agent")
	}
	return cluster, nil
}
