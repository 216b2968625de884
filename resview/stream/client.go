// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/resview/pb"
)

// ClientConfig is what a Client needs. Hub, Cluster, Vault, HubCA and Hello are required.
type ClientConfig struct {
	// Hub is the address HOST:PORT of the hub.
	Hub string
	// Cluster is the member's name; a token or certificate for another one is refused.
	Cluster string
	// HubCA returns the hub's authority as PEM, as it was handed over with the token. It is the pin under which the
	// agent joins; later bundles come from the hub over the connection that it protects.
	HubCA func() ([]byte, error)
	// Token returns the join token. It is asked for whenever there may be a new one. Nil or an empty text: none.
	Token func() (string, error)
	// Vault keeps the agent's key and certificate over restarts.
	Vault Vault
	// Hello returns what opens a session. Incarnation is filled in by the Client. The hub waits ten seconds for it.
	Hello func(context.Context) *pb.Hello
	// APIServerHealthy is asked for each beat; it must return within a second. Nil: always true.
	APIServerHealthy func(context.Context) bool
	// OnTargets receives each list of targets, from one goroutine. A list stays in force until the next, over
	// disconnects too. It must not block for long and must not change the messages. Nil: targets are dropped.
	OnTargets func([]*pb.Target)
	// Nodes says what the member's nodes hold. Nil: the hub is told nothing of them.
	Nodes NodeSource
	// Logger receives connects, disconnects and renewals. Nil: nothing is logged.
	Logger *slog.Logger
	// Metrics receives the client's metrics. Nil: they are kept but not shown.
	Metrics prometheus.Registerer
	// DialOptions are added when dialing, for example a proxy's dialer.
	DialOptions []grpc.DialOption
}

// Status is how the Client stands.
type Status struct {
	// Connected reports whether the hub has welcomed this session.
	Connected bool
	// Since is when Connected took its present value.
	Since time.Time
	// Reason says what the last attempt or session ended with, for a person. Empty while connected.
	Reason string
	// HubUID is the hub last spoken to.
	HubUID string
	// CertificateExpires is the end of the certificate in use. Zero: there is none.
	CertificateExpires time.Time
}

// Client is the agent's end of the wire. Facts may be set at any time from any goroutine, connected or not: the Client
// keeps the newest of each and sends what the hub does not have.
type Client struct {
	config      ClientConfig
	log         *slog.Logger
	metrics     *clientMetrics
	now         func() time.Time
	incarnation uint64
	outbox      *outbox
	identity    *enrolment

	mu     sync.Mutex
	status Status
}

// NewClient returns a Client that has not dialed yet.
func NewClient(config ClientConfig) (*Client, error) {
	if config.Vault == nil || config.HubCA == nil || config.Hello == nil {
		return nil, errors.New("stream client: Vault, HubCA and Hello are required")
	}
	if _, _, err := net.SplitHostPort(config.Hub); err != nil {
		return nil, fmt.Errorf("stream client: the hub's address must be HOST:PORT: %w", err)
	}
	if err := checkName("cluster", config.Cluster); err != nil {
		return nil, fmt.Errorf("stream client: %w", err)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.APIServerHealthy == nil {
		config.APIServerHealthy = func(context.Context) bool { return true }
	}
	if config.OnTargets == nil {
		config.OnTargets = func([]*pb.Target) {}
	}
	if config.Token == nil {
		config.Token = func() (string, error) { return "", nil }
	}
	now := time.Now()
	c := &Client{
		config:      config,
		log:         config.Logger,
		metrics:     newClientMetrics(),
		now:         time.Now,
		incarnation: uint64(now.UnixNano()),
		outbox:      newOutbox(),
		status:      Status{Since: now, Reason: "not connected yet"},
	}
	c.identity = &enrolment{config: &c.config, now: c.now, log: c.log}
	if config.Metrics != nil {
		if err := c.metrics.register(config.Metrics); err != nil {
			return nil, fmt.Errorf("stream client: register metrics: %w", err)
		}
	}
	return c, nil
}

// SetMember replaces what is known of the whole member. The message is the client's from then on. A message that the hub
// would refuse gives an error and is not taken: the earlier one stays.
func (c *Client) SetMember(facts *pb.MemberFacts) error {
	return c.put(itemKey{kind: kindMember}, &pb.AgentMessage{Body: &pb.AgentMessage_Member{Member: facts}})
}

// SetServed replaces what is known of what the member's API server serves; otherwise as SetMember.
func (c *Client) SetServed(served *pb.ServedAPIs) error {
	return c.put(itemKey{kind: kindServed}, &pb.AgentMessage{Body: &pb.AgentMessage_Served{Served: served}})
}

// SetService replaces what is known of one Service; otherwise as SetMember.
func (c *Client) SetService(facts *pb.ServiceFacts) error {
	return c.put(itemKey{kindService, refName(facts.GetRef())}, &pb.AgentMessage{Body: &pb.AgentMessage_Service{Service: facts}})
}

// SetProof replaces the verdict on one target; otherwise as SetMember.
func (c *Client) SetProof(facts *pb.ProofFacts) error {
	return c.put(itemKey{kindProof, refName(facts.GetRef())}, &pb.AgentMessage{Body: &pb.AgentMessage_Proof{Proof: facts}})
}

// put checks as the hub will, so that one message of ours that breaks a bound does not end session after session.
func (c *Client) put(key itemKey, message *pb.AgentMessage) error {
	if why := check(message); why != nil {
		return fmt.Errorf("the hub would refuse it: %w", why)
	}
	if size := proto.Size(message); size > maxMessageBytes-1024 {
		return fmt.Errorf("the hub would refuse it: %d bytes, %d at most", size, maxMessageBytes)
	}
	c.outbox.put(key, message, c.now())
	return nil
}

// RemoveProof forgets the verdict on a target that the hub no longer asks about. The hub has forgotten it by itself.
func (c *Client) RemoveProof(name types.NamespacedName) { c.outbox.drop(itemKey{kindProof, name}) }

// RemoveService says that a Service is gone or no longer annotated, and drops its proofs.
func (c *Client) RemoveService(name types.NamespacedName) {
	c.outbox.drop(itemKey{kindProof, name})
	c.outbox.remove(name)
}

// InventoryListed says that every Service of the member has been set once. Until then the hub is not told that its list
// is whole. Further calls change nothing.
func (c *Client) InventoryListed() { c.outbox.list() }

// Status returns how the Client stands.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

func (c *Client) setStatus(change func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.status.Connected
	change(&c.status)
	if was != c.status.Connected {
		c.status.Since = c.now()
	}
}

// sameBody reports whether two messages say the same, whatever their sequence.
func sameBody(a, b *pb.AgentMessage) bool {
	return proto.Equal(&pb.AgentMessage{Body: a.GetBody()}, &pb.AgentMessage{Body: b.GetBody()})
}
