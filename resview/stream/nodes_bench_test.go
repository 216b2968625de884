// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/view"
)

// BenchmarkLag has 100 agents with 100 nodes each on loopback sockets, all of it in one process. Each round a pod comes to
// every member, and is waited for in the views. It prints how long that takes at the median and at worst but one in a
// hundred, events a second, and the memory of the process, agents included.
func BenchmarkLag(b *testing.B) {
	const members, nodesEach = 100, 100
	h := startBench(b, members, nodesEach)
	lags := make([]time.Duration, 0, b.N*members)
	pods := 0
	for b.Loop() {
		pods++
		start := time.Now()
		for _, s := range h.sources {
			s.pods(1)
		}
		waiting := make(map[string]bool, members)
		for name := range h.sources {
			waiting[name] = true
		}
		for len(waiting) > 0 {
			<-h.changes.C()
			for _, c := range h.changes.Take() {
				v, _ := h.server.View(c.Cluster)
				if waiting[c.Cluster] && v.View != nil && v.View.Version() == uint64(pods+1) {
					delete(waiting, c.Cluster)
					lags = append(lags, time.Since(start))
				}
			}
		}
	}
	b.StopTimer()
	slices.Sort(lags)
	b.ReportMetric(float64(lags[len(lags)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(lags[len(lags)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(len(lags))/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(residentMiB(b), "RSS-MiB")
}

type benchFleet struct {
	server  *Server
	sources map[string]*nodes
	changes *Subscription
}

func startBench(b *testing.B, members, nodesEach int) *benchFleet {
	b.Helper()
	ownCompressor()
	authority, err := NewAuthority(time.Now())
	if err != nil {
		b.Fatal(err)
	}
	tokens := &memoryTokens{all: map[string]Token{}, burnt: map[string][32]byte{}}
	server, err := NewServer(ServerConfig{Authority: authority, Tokens: tokens})
	if err != nil {
		b.Fatal(err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	b.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() { _ = server.Serve(ctx, listener) }) // It ends with the benchmark.
	f := &benchFleet{server: server, sources: map[string]*nodes{}, changes: server.SubscribeViews()}
	b.Cleanup(f.changes.Close)
	for i := range members {
		cluster, source := fmt.Sprintf("c%d", i), newNodes(nodesEach)
		if err := server.Admit(cluster, Settings{}); err != nil {
			b.Fatal(err)
		}
		text, token, err := NewToken(cluster, time.Now().Add(time.Hour))
		if err != nil {
			b.Fatal(err)
		}
		tokens.mu.Lock()
		tokens.all[token.ID] = token
		tokens.mu.Unlock()
		client, err := NewClient(ClientConfig{
			Hub: listener.Addr().String(), Cluster: cluster, Vault: &memoryVault{}, Nodes: source,
			HubCA: func() ([]byte, error) { return authority.Bundle(), nil },
			Token: func() (string, error) { return text, nil },
			Hello: func(context.Context) *pb.Hello { return &pb.Hello{} },
		})
		if err != nil {
			b.Fatal(err)
		}
		f.sources[cluster] = source
		running.Go(func() { _ = client.Run(ctx) })
	}
	for known := 0; known < members; {
		<-f.changes.C()
		f.changes.Take()
		known = 0
		for _, v := range server.Views() {
			if v.InStep {
				known++
			}
		}
	}
	return f
}

// residentMiB is what the process holds of the machine's memory; 0 where the system does not tell.
func residentMiB(b *testing.B) float64 {
	b.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(raw), "VmRSS:")
	kib := 0.0
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

// BenchmarkWire is what one event costs the hub from the decoded message to the view, in updates of 100.
func BenchmarkWire(b *testing.B) {
	l := newLedger("c1", time.Now, func(map[Change]struct{}) {}, newViewMetrics())
	l.begin(1)
	source := newNodes(1000)
	for _, part := range partsOf(source.Snapshot()) {
		if why := l.snapshot(part); why != nil {
			b.Fatal(why)
		}
	}
	u := &pb.IncrementalUpdate{Version: 1}
	for i := range 100 {
		e := view.Event{
			Kind: view.PodAssigned + view.Kind(i%2), Name: fmt.Sprint("n", i/2), Pod: "p",
			Amounts: view.Amounts{{Name: view.CPU, Value: 1}, {Name: view.Pods, Value: 1}},
		}
		u.NodeDeltas = append(u.NodeDeltas, eventToWire(&e, 1, 0))
	}
	message := &pb.AgentMessage{Body: &pb.AgentMessage_Update{Update: u}}
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range u.GetNodeDeltas() {
			u.Version++
			d.EventSequenceId = u.GetVersion()
		}
		if why := check(message); why != nil {
			b.Fatal(why)
		}
		if why := l.update(u); why != nil {
			b.Fatal(why)
		}
	}
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "events/s")
}
