// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
)

// socket is one address with both of its transports.
type socket struct {
	tcp net.Listener
	udp net.PacketConn
}

func (s socket) close() {
	_ = s.tcp.Close()
	_ = s.udp.Close()
}

// Listen binds all addresses, or none.
func (s *Server) Listen(ctx context.Context) error {
	for _, address := range s.config.Listen {
		one, err := bind(ctx, address)
		if err != nil {
			for _, open := range s.sockets {
				open.close()
			}
			s.sockets = nil
			return err
		}
		s.sockets = append(s.sockets, one)
	}
	return nil
}

// Addresses that the server listens on, each over UDP and TCP.
func (s *Server) Addresses() []netip.AddrPort {
	out := make([]netip.AddrPort, 0, len(s.sockets))
	for _, one := range s.sockets {
		out = append(out, one.tcp.Addr().(*net.TCPAddr).AddrPort())
	}
	return out
}

// bindTries is how often a port that the system chose for TCP may be taken for UDP.
const bindTries = 16

func bind(ctx context.Context, address string) (socket, error) {
	var config net.ListenConfig
	host, port, _ := net.SplitHostPort(address) // Config.fill has looked.
	for try := 1; ; try++ {
		tcp, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return socket{}, fmt.Errorf("listen on %s: %w", address, err)
		}
		_, chosen, err := net.SplitHostPort(tcp.Addr().String())
		if err != nil {
			_ = tcp.Close()
			return socket{}, fmt.Errorf("listen on %s: %w", address, err)
		}
		udp, err := config.ListenPacket(ctx, "udp", net.JoinHostPort(host, chosen))
		if err == nil {
			return socket{tcp, udp}, nil
		}
		_ = tcp.Close()
		if port != "0" || try == bindTries {
			return socket{}, fmt.Errorf("listen on %s: %w", address, err)
		}
	}
}

// serve answers on all sockets until the context ends, and a while longer.
func (s *Server) serve(ctx context.Context) error {
	var servers []*dns.Server
	var started []chan struct{}
	group, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	for _, one := range s.sockets {
		for _, transport := range []*dns.Server{{PacketConn: one.udp}, {Listener: listener{one.tcp, s.limits}}} {
			up := make(chan struct{})
			transport.Handler = s
			transport.UDPSize = maxUDPQuestion
			transport.ReadTimeout = ioTimeout
			transport.IdleTimeout = func() time.Duration { return s.config.IdleTimeout }
			transport.MaxTCPQueries = -1
			transport.MsgAcceptFunc = s.accept
			transport.MsgInvalidFunc = s.invalid
			transport.NotifyStartedFunc = func() { close(up) }
			servers, started = append(servers, transport), append(started, up)
			group.Go(transport.ActivateAndServe)
		}
	}
	for _, up := range started {
		select {
		case <-up:
		case <-failed.Done():
		}
	}
	s.phase.Store(phaseServing)
	group.Go(func() error {
		s.untilStopped(ctx, failed)
		return shutdown(context.WithoutCancel(ctx), servers)
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("answer DNS questions: %w", err)
	}
	return nil
}

// untilStopped returns when all sockets are to be closed: a while after the context ended, or at once when one failed.
func (s *Server) untilStopped(ctx, failed context.Context) {
	defer s.phase.Store(phaseStopping)
	select {
	case <-ctx.Done():
	case <-failed.Done():
		return
	}
	s.phase.Store(phaseStopping)
	wait := time.NewTimer(s.config.LameDuck)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-failed.Done():
	}
}

// shutdown lets answers under way be written, and closes.
func shutdown(ctx context.Context, servers []*dns.Server) error {
	ctx, cancel := context.WithTimeout(ctx, 2*ioTimeout)
	defer cancel()
	var all []error
	for _, one := range servers {
		all = append(all, one.ShutdownContext(ctx))
	}
	return errors.Join(all...)
}
