// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weir-io/weir/resview/pb"
)

const (
	minBackoff   = 250 * time.Millisecond
	maxBackoff   = 5 * time.Second
	awayBackoff  = time.Minute // after another agent took the name: two that fight over it must not do so fast
	minBeat      = 100 * time.Millisecond
	maxBeat      = 5 * time.Minute
	healthWithin = time.Second
	batch        = 100
	renewRetry   = 10 * time.Minute
)

// Run keeps a session with the hub until the context ends. It never gives up: what stands in the way is in Status and in
// the log, and is tried again after a pause that grows to 5 seconds, all of it random, so that a fleet does not return
// to its hub in step.
func (c *Client) Run(ctx context.Context) error {
	random := rand.New(rand.NewPCG(c.incarnation, uint64(len(c.config.Cluster))))
	failures := 0
	for {
		welcomed, err := c.attempt(ctx)
		c.metrics.connected.Set(0)
		if ctx.Err() != nil {
			c.setStatus(func(s *Status) { s.Connected, s.Reason = false, "the agent stops" })
			return nil //nolint:nilerr // An attempt that the caller ended did not fail.
		}
		c.setStatus(func(s *Status) { s.Connected, s.Reason = false, err.Error() })
		c.log.Warn("no session with the hub", "hub", c.config.Hub, "reason", err.Error())
		if welcomed {
			failures = 0
		}
		if !sleep(ctx, pause(random, failures, err)) {
			continue
		}
		failures++
	}
}

// pause is the wait before the next attempt: a random part of a span that doubles with each failure in a row.
func pause(random *rand.Rand, failures int, err error) time.Duration {
	span := min(maxBackoff, minBackoff<<min(failures, 10))
	var why *refusal
	if errors.As(err, &why) && (why.code == codeReplaced || why.code == codeSuperseded) {
		return awayBackoff/2 + time.Duration(random.Int64N(int64(awayBackoff/2)))
	}
	return time.Duration(random.Int64N(int64(span)))
}

// attempt opens one session and serves it to its end. It reports whether the hub welcomed it.
func (c *Client) attempt(ctx context.Context) (welcomed bool, err error) {
	with, err := c.identity.ensure(ctx)
	if err != nil {
		return false, err
	}
	c.noteCertificate(with)
	conn, err := dial(&c.config, with, c.now)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var tasks sync.WaitGroup
	defer func() {
		cancel(nil)
		_ = conn.Close() // What it could say was said by the stream.
		tasks.Wait()
	}()
	watchdog := time.AfterFunc(hubSilence, func() {
		cancel(fmt.Errorf("nothing heard from the hub for %s", hubSilence))
	})
	defer watchdog.Stop()

	stream, err := pb.NewMemberLinkClient(conn).Session(ctx)
	if err != nil {
		return false, c.cause(ctx, err)
	}
	talk := &conversation{client: c, stream: stream, beats: make(chan *pb.Beat, 1), asked: make(chan struct{}, 1), nodes: newNodeTalk(c)}
	if err := talk.hello(ctx); err != nil && !errors.Is(err, io.EOF) { // After EOF receiving tells why.
		return false, c.cause(ctx, err)
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return welcomed, c.cause(ctx, err)
		}
		watchdog.Reset(hubSilence)
		switch body := message.GetBody().(type) {
		case *pb.HubMessage_Welcome:
			if welcomed {
				return true, errors.New("the hub welcomed this agent twice in one session")
			}
			if err := c.welcome(body.Welcome); err != nil {
				return false, err
			}
			welcomed = true
			interval := time.Duration(body.Welcome.GetBeatIntervalMs()) * time.Millisecond
			tasks.Go(func() { talk.beat(ctx, min(max(interval, minBeat), maxBeat)) })
			tasks.Go(func() { cancel(talk.send(ctx)) })
			tasks.Go(func() { c.renewInTime(ctx, with) })
		case *pb.HubMessage_Targets:
			c.config.OnTargets(body.Targets.GetTargets())
		case *pb.HubMessage_ViewAck:
			talk.nodes.heard(body.ViewAck)
		case *pb.HubMessage_HealthCheck:
			talk.ask()
		case *pb.HubMessage_Refusal:
			return welcomed, &refusal{code: body.Refusal.GetCode(), reason: clip(body.Refusal.GetReason())}
		}
	}
}

func (c *Client) welcome(w *pb.Welcome) error {
	if w.GetCluster() != c.config.Cluster {
		return fmt.Errorf("the hub takes this agent for cluster %q, it is set up as %q: join again with a new token", clip(w.GetCluster()), c.config.Cluster)
	}
	c.outbox.restart()
	c.metrics.connected.Set(1)
	c.metrics.sessions.Inc()
	c.setStatus(func(s *Status) { s.Connected, s.Reason, s.HubUID = true, "", w.GetHubUid() })
	c.log.Info("session with the hub", "hub", c.config.Hub, "hubUid", w.GetHubUid())
	return nil
}

// cause prefers what the agent itself ended the session for to the cancellation that gRPC then reports.
func (c *Client) cause(ctx context.Context, err error) error {
	if own := context.Cause(ctx); own != nil && !errors.Is(own, context.Canceled) {
		return own
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the hub ended the session")
	}
	return plain(err)
}

func (c *Client) noteCertificate(with *credential) {
	expires := with.certificate.Leaf.NotAfter
	c.metrics.expires.Set(float64(expires.Unix()))
	c.setStatus(func(s *Status) { s.CertificateExpires = expires })
}

// renewInTime renews while a session lasts. The session goes on under the certificate that it was opened with; the next
// one shows the new.
func (c *Client) renewInTime(ctx context.Context, with *credential) {
	for {
		wait := renewAt(with.certificate.Leaf).Sub(c.now())
		if wait <= 0 {
			wait = renewRetry // It was just tried, and failed.
		}
		if !sleep(ctx, wait) {
			return
		}
		renewed, err := c.identity.ensure(ctx)
		if err != nil {
			c.log.Error("certificate not renewed", "error", err)
			continue
		}
		with = renewed
		c.noteCertificate(with)
	}
}

// conversation is what the agent says in one session. Only one goroutine at a time calls its stream's Send: hello before
// the welcome, send after it.
type conversation struct {
	client   *Client
	stream   pb.MemberLink_SessionClient
	sequence uint64
	beats    chan *pb.Beat
	asked    chan struct{} // the hub misses a beat
	nodes    *nodeTalk
}

// ask has a beat made at once.
func (t *conversation) ask() {
	select {
	case t.asked <- struct{}{}:
	default: // One is on its way.
	}
}

func (t *conversation) say(message *pb.AgentMessage) error {
	t.sequence++
	out := &pb.AgentMessage{Sequence: t.sequence, Body: message.GetBody()}
	if err := t.stream.Send(out); err != nil {
		return err
	}
	t.client.metrics.sent.WithLabelValues(bodyName(message)).Inc()
	return nil
}

func (t *conversation) hello(ctx context.Context) error {
	hello := t.client.config.Hello(ctx)
	hello.Incarnation = t.client.incarnation
	return t.say(&pb.AgentMessage{Body: &pb.AgentMessage_Hello{Hello: hello}})
}

// beat makes one beat at once and then one in each interval. Asking the API server may take a while; it must not hold up
// what else is to be sent.
func (t *conversation) beat(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		within, cancel := context.WithTimeout(ctx, healthWithin)
		healthy := t.client.config.APIServerHealthy(within)
		cancel()
		select {
		case t.beats <- &pb.Beat{Incarnation: t.client.incarnation, ApiServerHealthy: healthy}:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-t.asked:
		case <-ctx.Done():
			return
		}
	}
}

// send sends beats, and what the hub lacks. Its error ends the session unless the receiver knows better; nil after io.EOF
// leaves it to the receiver to say why.
//
// What happens to nodes is sent at most once in viewInterval, so that a member in turmoil sends few messages of many
// events, and facts and beats get between the parts of a large snapshot.
func (t *conversation) send(ctx context.Context) error {
	rest := time.NewTimer(0)
	defer rest.Stop()
	<-rest.C
	changed, wake := t.nodes.changed(), t.nodes.wake
	for {
		var messages []*pb.AgentMessage
		nodes := false
		select {
		case <-ctx.Done():
			return nil
		case beat := <-t.beats:
			beat.SnapshotVersion = t.nodes.version()
			messages = []*pb.AgentMessage{{Body: &pb.AgentMessage_Beat{Beat: beat}}}
		case <-t.client.outbox.changed:
			messages = t.client.outbox.next(batch, t.client.now())
		case <-changed:
			nodes = true
		case <-wake:
			nodes = true
		case <-rest.C:
			nodes = true
			changed, wake = t.nodes.changed(), t.nodes.wake
		}
		if nodes {
			if message, more := t.nodes.say(); message != nil {
				messages, changed, wake = []*pb.AgentMessage{message}, nil, nil
				rest.Reset(pauseAfter(more))
			}
		}
		for _, message := range messages {
			if err := t.say(message); err != nil {
				if errors.Is(err, io.EOF) {
					<-ctx.Done()
					return nil
				}
				return fmt.Errorf("send to the hub: %w", plain(err))
			}
		}
		waiting := t.client.outbox.waiting()
		t.client.metrics.waiting.Set(float64(waiting))
		if waiting > 0 {
			t.client.outbox.wake()
		}
	}
}

// pauseAfter is how long the nodes are not told of after a message about them.
func pauseAfter(more bool) time.Duration {
	if more {
		return 0
	}
	return viewInterval
}
