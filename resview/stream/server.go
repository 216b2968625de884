// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"github.com/weir-io/weir/resview/pb"
)

// DefaultBeatInterval is how often an agent beats unless its Settings say otherwise.
const DefaultBeatInterval = 10 * time.Second

// ServerConfig is what a Server needs. Authority and Tokens are required.
type ServerConfig struct {
	// Authority signs the certificates of the hub and its members.
	Authority *Authority
	// Tokens are the join tokens.
	Tokens TokenStore
	// HubUID identifies the hub towards agents, as a rule the UID of its kube-system namespace.
	HubUID string
	// Logger receives joins, sessions and refusals. Nil: nothing is logged.
	Logger *slog.Logger
	// Metrics receives the server's metrics. Nil: they are kept but not shown.
	Metrics prometheus.Registerer
}

// Settings are what the hub wants of one member.
type Settings struct {
	// Registration says which registration of that name it is, such as its object's UID. It stands in the certificates of
	// its agent; those of another registration open no session and are not renewed.
	Registration string
	// BeatInterval is how often the agent shall beat. Zero: DefaultBeatInterval.
	BeatInterval time.Duration
}

// Server is the hub's end of the wire. All of its methods may be called at any time from any goroutine.
type Server struct {
	config      ServerConfig
	log         *slog.Logger
	metrics     *serverMetrics
	now         func() time.Time
	subscribers subscribers
	// viewSubscribers hear of views alone, which change far oftener than what the others wait for.
	viewSubscribers subscribers
	joins           *joinLimiter
	served          servedLists
	stopping        chan struct{}
	stopOnce        sync.Once
	readers         sync.WaitGroup // goroutines that outlive their session's handler for a moment

	mu      sync.RWMutex
	members map[string]*member
}

// NewServer returns a Server that admits nobody yet and does not listen yet.
func NewServer(config ServerConfig) (*Server, error) {
	if config.Authority == nil || config.Tokens == nil {
		return nil, errors.New("stream server: Authority and Tokens are required")
	}
	s := &Server{
		config:   config,
		log:      config.Logger,
		now:      time.Now,
		stopping: make(chan struct{}),
		members:  map[string]*member{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.joins = newJoinLimiter()
	s.metrics = newServerMetrics()
	if config.Metrics != nil {
		if err := s.metrics.register(config.Metrics); err != nil {
			return nil, fmt.Errorf("stream server: register metrics: %w", err)
		}
	}
	return s, nil
}

// Admit lets a member join and open sessions, or changes the Settings of one that may already; new Settings reach the
// agent with its next session. Its snapshot exists from then on. The name must be a DNS subdomain of at most 253
// characters.
func (s *Server) Admit(cluster string, settings Settings) error {
	if err := checkName("cluster", cluster); err != nil {
		return err
	}
	if settings.BeatInterval <= 0 {
		settings.BeatInterval = DefaultBeatInterval
	}
	s.mu.Lock()
	m, known := s.members[cluster]
	if known && m.registration != settings.Registration {
		s.mu.Unlock()
		s.Forget(cluster)
		return s.Admit(cluster, settings)
	}
	if !known {
		m = s.newMember(cluster, settings.Registration)
		s.members[cluster] = m
	}
	s.mu.Unlock()
	m.configure(settings)
	if !known {
		s.subscribers.notify(map[Change]struct{}{{Cluster: cluster}: {}})
	}
	return nil
}

// Forget ends a member's session and drops its snapshot. Its certificate is worth nothing until Admit is called again
// for the same Registration.
func (s *Server) Forget(cluster string) {
	s.mu.Lock()
	m := s.members[cluster]
	delete(s.members, cluster)
	s.mu.Unlock()
	if m == nil {
		return
	}
	m.close(&refusal{code: codeNotRegistered, reason: notRegistered(cluster)})
	s.subscribers.notify(map[Change]struct{}{{Cluster: cluster}: {}})
	s.viewSubscribers.notify(map[Change]struct{}{{Cluster: cluster}: {}})
}

// Snapshot returns what is known of a member, or nil when it is not admitted. It takes no lock that a session holds.
func (s *Server) Snapshot(cluster string) *Snapshot {
	m := s.member(cluster)
	if m == nil {
		return nil
	}
	return m.current.Load()
}

// Snapshots returns one snapshot for each admitted member, sorted by name.
func (s *Server) Snapshots() []*Snapshot {
	s.mu.RLock()
	out := make([]*Snapshot, 0, len(s.members))
	for _, m := range s.members {
		out = append(out, m.current.Load())
	}
	s.mu.RUnlock()
	slices.SortFunc(out, func(a, b *Snapshot) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

// Subscribe returns a Subscription to the changes of all members from now on. The holder must Close it.
func (s *Server) Subscribe() *Subscription { return s.subscribers.subscribe() }

// SetTargets replaces what a member shall prove, one target for each service. The messages are the server's from then on;
// it fills in their question. Proofs of what is not in the list, or in it with other contents, leave the snapshot, and
// answers that come later to older questions are dropped. It is kept over reconnects; a member that is not admitted gives an error.
func (s *Server) SetTargets(cluster string, targets []*pb.Target) error {
	m := s.member(cluster)
	if m == nil {
		return fmt.Errorf("set targets: %s", notRegistered(cluster))
	}
	m.setTargets(targets)
	return nil
}

// Serve accepts agents on the listener until the context ends, tells them that the hub stops, and returns when every
// session has ended. It closes the listener. A Server serves once.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(s.tlsConfig())),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxConcurrentStreams(4),
		grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(helloTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: time.Minute,
			Time:              keepaliveAfter,
			Timeout:           keepaliveTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 2 * time.Second, PermitWithoutStream: true}),
	)
	pb.RegisterRegistrationServer(server, &registration{Server: s})
	pb.RegisterMemberLinkServer(server, &memberLink{Server: s})

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		s.stopOnce.Do(func() { close(s.stopping) })
		deadline := time.AfterFunc(2*refusalTimeout, server.Stop)
		server.GracefulStop()
		deadline.Stop()
	}()
	err := server.Serve(listener)
	if ctx.Err() == nil {
		server.Stop()
		return fmt.Errorf("serve agents on %s: %w", listener.Addr(), err)
	}
	<-ended
	s.readers.Wait()
	return nil
}

func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true, // Each connection shows its certificate anew.
		ClientAuth:             tls.RequestClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.config.Authority.hubCertificate(s.now())
		},
		VerifyConnection: s.verifyConnection,
	}
}

func (s *Server) member(cluster string) *member {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.members[cluster]
}

func notRegistered(cluster string) string {
	return fmt.Sprintf("cluster %q is not registered here: create its Cluster object or run `kubectl weir join`", cluster)
}

func sameTargets(a, b []*pb.Target) bool {
	return slices.EqualFunc(a, b, func(x, y *pb.Target) bool { return proto.Equal(x, y) })
}
