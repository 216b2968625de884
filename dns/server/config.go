// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is what a Server needs. Zero values of numbers and times stand for the defaults.
type Config struct {
	// Listen holds the host:port pairs to answer on, each over UDP and over TCP. At least one.
	Listen []string
	// MaxConns is how many TCP connections are held at a time. Default 1000.
	MaxConns int
	// MaxConnsPerClient is how many of them one address may hold. Default 100.
	MaxConnsPerClient int
	// IdleTimeout is how long a TCP connection may be silent between two questions (RFC 7766). Default 10s.
	IdleTimeout time.Duration
	// LameDuck is how long the server answers on, not ready, after it was told to stop. Default 0: not at all.
	LameDuck time.Duration
	// Seed of the draws among clusters. 0: one from the system.
	Seed uint64
	// Metrics is where the server counts.
	Metrics prometheus.Registerer
	// Log gets what went wrong.
	Log *slog.Logger
}

// Defaults of a Config.
const (
	DefaultMaxConns          = 1000
	DefaultMaxConnsPerClient = 100
	DefaultIdleTimeout       = 10 * time.Second
)

const (
	// ioTimeout is how long one read of a question that began, and one write of an answer, may take.
	ioTimeout = 2 * time.Second
	// maxUDPQuestion is how long a question over UDP may be.
	maxUDPQuestion = 4096
)

func (c *Config) fill() error {
	if len(c.Listen) == 0 {
		return errors.New("no address to listen on: give at least one, such as :1053")
	}
	for _, address := range c.Listen {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("listen address %q is not host:port: give one such as :1053", address)
		}
	}
	if c.MaxConns == 0 {
		c.MaxConns = DefaultMaxConns
	}
	if c.MaxConnsPerClient == 0 {
		c.MaxConnsPerClient = DefaultMaxConnsPerClient
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.MaxConns < 0 || c.MaxConnsPerClient < 0 || c.IdleTimeout < 0 || c.LameDuck < 0 {
		return errors.New("limits of connections and times must not be negative")
	}
	return nil
}
