// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/sha256"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weir-io/weir/resview/pb"
)

// The other tests have a network in memory and fake time. This one has sockets and real time, and little else.
func TestManyAgentsOverSockets(t *testing.T) {
	ownCompressor()
	authority, err := NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tokens := &memoryTokens{all: map[string]Token{}, burnt: map[string][sha256.Size]byte{}}
	server, err := NewServer(ServerConfig{Authority: authority, Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	changes := server.Subscribe()
	defer changes.Close()
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := server.Serve(ctx, listener); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	clusters := []string{"c1", "c2", "c3", "c4", "c5"}
	for _, cluster := range clusters {
		if err := server.Admit(cluster, Settings{}); err != nil {
			t.Fatal(err)
		}
		text, token, err := NewToken(cluster, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		tokens.mu.Lock()
		tokens.all[token.ID] = token
		tokens.mu.Unlock()
		client, err := NewClient(ClientConfig{
			Hub: listener.Addr().String(), Cluster: cluster, Vault: Dir(t.TempDir()),
			HubCA: func() ([]byte, error) { return authority.Bundle(), nil },
			Token: func() (string, error) { return text, nil },
			Hello: func(context.Context) *pb.Hello { return &pb.Hello{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.SetService(service(cluster+"-only", "1")); err != nil {
			t.Fatal(err)
		}
		client.InventoryListed()
		running.Go(func() {
			if err := client.Run(ctx); err != nil {
				t.Errorf("run: %v", err)
			}
		})
	}
	whole := func() bool {
		for _, cluster := range clusters {
			s := server.Snapshot(cluster)
			if !s.InventoryComplete || len(s.Services) != 1 || s.Services[key(cluster+"-only")].Value == nil {
				return false
			}
		}
		return true
	}
	deadline := time.After(time.Minute)
	for !whole() {
		select {
		case <-changes.C():
			changes.Take()
		case <-deadline:
			t.Fatalf("after a minute not every member is whole: %+v", server.Snapshots())
		}
	}
}
