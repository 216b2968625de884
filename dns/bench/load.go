// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	sockets = 4
	window  = 48 // questions under way on one socket; a server's buffer holds those of all
	// patience is how long an answer is waited for before all that are under way are lost.
	patience = 500 * time.Millisecond
)

// nameOf is the n-th name that all servers hold.
func nameOf(n int) string { return fmt.Sprintf("s%d.demo.%s", n, origin) }

const origin = "global.example.com."

// ask keeps questions under way for a while, and counts what was answered with an address.
func ask(ctx context.Context, address string, names int, how time.Duration) (answers, lost int, err error) {
	questions, err := pack(names)
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, how)
	defer cancel()
	var got, missed atomic.Int64
	var all sync.WaitGroup
	failures := make(chan error, sockets)
	for i := range sockets {
		all.Go(func() {
			var d net.Dialer
			conn, err := d.DialContext(context.WithoutCancel(ctx), "udp", address)
			if err != nil {
				failures <- err
				return
			}
			defer conn.Close()
			n, m, err := keep(ctx, conn, questions, i*names/sockets)
			got.Add(int64(n))
			missed.Add(int64(m))
			if err != nil {
				failures <- err
			}
		})
	}
	all.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return 0, 0, err
	}
	if got.Load() == 0 {
		return 0, 0, errors.New("no question was answered")
	}
	return int(got.Load()), int(missed.Load()), nil
}

// pack writes each question once; the id is its place.
func pack(names int) ([][]byte, error) {
	out := make([][]byte, 0, names)
	for n := range names {
		m := new(dns.Msg)
		m.SetQuestion(nameOf(n), dns.TypeA)
		m.Id = uint16(n)
		m.SetEdns0(1232, false)
		raw, err := m.Pack()
		if err != nil {
			return nil, fmt.Errorf("pack the question for %s: %w", nameOf(n), err)
		}
		out = append(out, raw)
	}
	return out, nil
}

// keep holds a window of questions under way until the context ends: each answer is followed by a further question.
func keep(ctx context.Context, conn net.Conn, questions [][]byte, at int) (answered, lost int, err error) {
	var b [2048]byte
	underWay := 0
	for {
		for ; underWay < window && ctx.Err() == nil; underWay++ {
			if _, err := conn.Write(questions[at%len(questions)]); err != nil {
				return answered, lost, err
			}
			at++
		}
		if underWay == 0 {
			return answered, lost, nil
		}
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return answered, lost, err
		}
		n, err := conn.Read(b[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			lost += underWay
			underWay = 0
			continue
		}
		if err != nil {
			return answered, lost, err
		}
		// The fourth byte ends with the code, and the eighth is the number of answers.
		if n < 12 || b[3]&0xf != 0 || b[7] == 0 {
			return answered, lost, fmt.Errorf("an answer without an address: %x", b[:n])
		}
		answered++
		underWay--
	}
}
