// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"runtime"
	"testing"
)

// events are pods that come to 1,000 nodes and go again, as they come off the wire.
func events(nodes []*Node) []Event {
	out := make([]Event, 0, 64*len(nodes))
	for range 32 {
		for i := range nodes {
			out = append(out, Event{Kind: PodAssigned, Name: nodes[(i*7919)%len(nodes)].Name, Pod: "p", Amounts: pod(250, 1<<28)})
		}
		for i := range nodes {
			out = append(out, Event{Kind: PodDeleted, Name: nodes[(i*7919)%len(nodes)].Name, Pod: "p", Amounts: pod(250, 1<<28)})
		}
	}
	return out
}

// BenchmarkApply is what one event costs, without and with a view handed out after every hundredth.
func BenchmarkApply(b *testing.B) {
	for name, every := range map[string]int{"alone": 0, "view after 100": 100} {
		b.Run(name, func(b *testing.B) {
			nodes := manyNodes(1000)
			book, all := bookOf(b, nodes...), events(nodes)
			at := 0
			b.ReportAllocs()
			for b.Loop() {
				e := all[at%len(all)]
				e.Sequence = book.Version() + 1
				if _, err := book.Take(&e); err != nil {
					b.Fatal(err)
				}
				if at++; every > 0 && at%every == 0 {
					book.View()
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkRead is what a reader of a view of 1,000 nodes pays.
func BenchmarkRead(b *testing.B) {
	v := bookOf(b, manyNodes(1000)...).View()
	b.Run("Shapes", func(b *testing.B) {
		for b.Loop() {
			v.Shapes()
		}
	})
	b.Run("Largest", func(b *testing.B) {
		for b.Loop() {
			v.Largest(8)
		}
	})
	b.Run("Sums", func(b *testing.B) {
		for b.Loop() {
			v.Allocatable()
			v.Allocated()
		}
	})
}

// BenchmarkMemory is what 100 members of 1,000 nodes each take, all names distinct.
func BenchmarkMemory(b *testing.B) {
	const members, nodes = 100, 1000
	for b.Loop() {
		b.StopTimer()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		books := make([]*Book, 0, members)
		b.StartTimer()
		for m := range members {
			book := NewBook(1)
			for i, n := range manyNodes(nodes) {
				n.Name = fmt.Sprintf("m%d-%d.eu-central-1.compute.internal", m, i)
				if err := book.Add(n); err != nil {
					b.Fatal(err)
				}
			}
			book.Seal(1)
			book.View()
			books = append(books, book)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/members/nodes, "B/node")
		runtime.KeepAlive(books)
		b.StartTimer()
	}
}
