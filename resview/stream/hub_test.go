// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/resview/pb"
)

// memoryTokens is a TokenStore.
type memoryTokens struct {
	mu    sync.Mutex
	all   map[string]Token
	burnt map[string][sha256.Size]byte
	fail  error
}

func (m *memoryTokens) Token(_ context.Context, id string) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	token, ok := m.all[id]
	if !ok {
		return Token{}, ErrNoToken
	}
	return token, m.fail
}

func (m *memoryTokens) Burn(_ context.Context, id string, key [sha256.Size]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if by, used := m.burnt[id]; used && by != key {
		return ErrTokenUsed
	}
	m.burnt[id] = key
	return nil
}

// memoryVault is a Vault.
type memoryVault struct {
	mu       sync.Mutex
	identity Identity
	saves    int
}

func (v *memoryVault) Load(context.Context) (Identity, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.identity, nil
}

// kept is the identity as it stands.
func (v *memoryVault) kept() Identity {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.identity
}

func (v *memoryVault) Save(_ context.Context, identity Identity) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.identity = identity
	v.saves++
	return nil
}

// hub is a Server with a network to reach it by.
type hub struct {
	*Server
	t         *testing.T
	network   *network
	authority *Authority
	tokens    *memoryTokens
	stopped   chan struct{}
	stop      context.CancelFunc
}

// startHub starts a hub that admits c1 and c2. It stops with the test at the latest.
func startHub(t *testing.T) *hub {
	t.Helper()
	ownCompressor()
	authority, err := NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{
		t: t, network: newNetwork(), authority: authority,
		tokens: &memoryTokens{all: map[string]Token{}, burnt: map[string][sha256.Size]byte{}},
	}
	h.start()
	return h
}

// ownCompressor gives a test a pool of its own: decoders hold channels, which a bubble of testing/synctest must not
// share with anything outside.
func ownCompressor() { encoding.RegisterCompressor(newCompressor()) }

// start begins to serve, with nothing but the authority and the tokens of an earlier time.
func (h *hub) start() {
	h.t.Helper()
	server, err := NewServer(ServerConfig{Authority: h.authority, Tokens: h.tokens, HubUID: "hub-1"})
	if err != nil {
		h.t.Fatal(err)
	}
	h.Server = server
	for _, cluster := range []string{"c1", "c2"} {
		if err := server.Admit(cluster, Settings{}); err != nil {
			h.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	stopped := make(chan struct{})
	h.stop, h.stopped = cancel, stopped
	listener := h.network.listen()
	go func() {
		defer close(stopped)
		if err := server.Serve(ctx, listener); err != nil {
			h.t.Errorf("serve: %v", err)
		}
	}()
	h.t.Cleanup(func() { cancel(); <-stopped })
}

// halt stops the hub and waits for its end.
func (h *hub) halt() {
	h.stop()
	<-h.stopped
	h.network.unplug()
}

func (h *hub) token(cluster string, life time.Duration) string {
	h.t.Helper()
	text, token, err := NewToken(cluster, time.Now().Add(life))
	if err != nil {
		h.t.Fatal(err)
	}
	h.tokens.mu.Lock()
	defer h.tokens.mu.Unlock()
	h.tokens.all[token.ID] = token
	return text
}

// agent is a Client and what it was told.
type agent struct {
	*Client
	t       *testing.T
	vault   *memoryVault
	stop    context.CancelFunc
	stopped chan struct{}

	mu      sync.Mutex
	targets [][]*pb.Target
}

// config is what an agent of the cluster needs to reach the hub.
func (h *hub) config(cluster, token string, vault Vault) ClientConfig {
	return ClientConfig{
		Hub: "hub:8443", Cluster: cluster, Vault: vault,
		HubCA:       func() ([]byte, error) { return h.authority.Bundle(), nil },
		Token:       func() (string, error) { return token, nil },
		Hello:       func(context.Context) *pb.Hello { return &pb.Hello{AgentVersion: "test"} },
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(h.network.dial)},
	}
}

// startAgent starts an agent with a fresh token. It stops with the test at the latest.
func (h *hub) startAgent(cluster string) *agent {
	h.t.Helper()
	vault := &memoryVault{}
	return h.runAgent(h.config(cluster, h.token(cluster, time.Hour), vault), vault)
}

func (h *hub) runAgent(config ClientConfig, vault *memoryVault) *agent {
	h.t.Helper()
	a := &agent{t: h.t, vault: vault, stopped: make(chan struct{})}
	config.OnTargets = func(targets []*pb.Target) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.targets = append(a.targets, targets)
	}
	client, err := NewClient(config)
	if err != nil {
		h.t.Fatal(err)
	}
	a.Client = client
	ctx, cancel := context.WithCancel(h.t.Context())
	a.stop = cancel
	go func() {
		defer close(a.stopped)
		if err := client.Run(ctx); err != nil {
			h.t.Errorf("run: %v", err)
		}
	}()
	h.t.Cleanup(a.halt)
	return a
}

func (a *agent) halt() {
	a.stop()
	<-a.stopped
}

func (a *agent) lastTargets() []*pb.Target {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.targets) == 0 {
		return nil
	}
	return a.targets[len(a.targets)-1]
}

func (a *agent) set(services ...*pb.ServiceFacts) {
	a.t.Helper()
	for _, s := range services {
		if err := a.SetService(s); err != nil {
			a.t.Fatal(err)
		}
	}
}

func service(name string, version string) *pb.ServiceFacts {
	return &pb.ServiceFacts{
		Ref: &pb.ServiceRef{Namespace: "shop", Name: name}, Type: "ClusterIP", ResourceVersion: version,
	}
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// versions is what a snapshot says of its services, by name.
func versions(s *Snapshot) map[string]string {
	out := map[string]string{}
	for name, fact := range s.Services {
		out[name.Name] = fact.Value.GetResourceVersion()
	}
	return out
}

// rawAgent is a peer that joined rightly and then says whatever a test wants.
type rawAgent struct {
	conn   *grpc.ClientConn
	stream pb.MemberLink_SessionClient
}

// identity returns a certificate of the cluster with its key, signed by the hub.
func (h *hub) identity(cluster string) *tls.Certificate {
	h.t.Helper()
	return h.certificate(func(csr *x509.CertificateRequest) ([]byte, error) {
		return h.authority.issue(cluster, "", csr, time.Now())
	})
}

func (h *hub) certificate(sign func(*x509.CertificateRequest) ([]byte, error)) *tls.Certificate {
	h.t.Helper()
	keyText, err := newKey()
	if err != nil {
		h.t.Fatal(err)
	}
	der, err := requestFor(keyText)
	if err != nil {
		h.t.Fatal(err)
	}
	csr, err := parseRequest(der)
	if err != nil {
		h.t.Fatal(err)
	}
	leaf, err := sign(csr)
	if err != nil {
		h.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(encodeCertificate(leaf), []byte(keyText))
	if err != nil {
		h.t.Fatal(err)
	}
	return &pair
}

// connect dials with a certificate, or without one.
func (h *hub) connect(certificate *tls.Certificate) *grpc.ClientConn {
	h.t.Helper()
	roots, err := poolOf(h.authority.Bundle())
	if err != nil {
		h.t.Fatal(err)
	}
	config := h.config("c1", "", &memoryVault{})
	conn, err := dial(&config, &credential{certificate: certificate, roots: roots}, time.Now)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// raw opens a session by hand, and says hello unless told otherwise.
func (h *hub) raw(cluster string, first *pb.AgentMessage) *rawAgent {
	h.t.Helper()
	conn := h.connect(h.identity(cluster))
	stream, err := pb.NewMemberLinkClient(conn).Session(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	r := &rawAgent{conn: conn, stream: stream}
	if err := stream.Send(first); err != nil {
		h.t.Fatal(err)
	}
	return r
}

func hello(incarnation uint64) *pb.AgentMessage {
	return &pb.AgentMessage{Sequence: 1, Body: &pb.AgentMessage_Hello{Hello: &pb.Hello{Incarnation: incarnation}}}
}

// refusal reads on until the hub refuses. A message that is too long is refused by gRPC itself, by a status alone.
func (r *rawAgent) refusal() (*pb.Refusal, error) {
	for {
		message, err := r.stream.Recv()
		if s := status.Convert(err); s.Code() == codes.ResourceExhausted {
			return &pb.Refusal{Code: codeTooMuch, Reason: s.Message()}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("session ended without a refusal: %w", err)
		}
		if refusal := message.GetRefusal(); refusal != nil {
			return refusal, nil
		}
	}
}
