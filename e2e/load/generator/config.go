// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/weir-io/weir/e2e/load"
)

// Target is one place to send to.
type Target struct {
	// URL is the base: http, a host, a port, no path.
	URL string
	// Host replaces that of the URL in the requests, if set. An ingress gateway
	// picks its route by it.
	Host string
}

// Config says what to send, where, and what to keep of it.
type Config struct {
	// Client names this client in ids, files and reports.
	Client string
	// Targets get the requests of each class in turn.
	Targets []Target
	// Rate is the number of requests a second over all classes.
	Rate float64
	// Seed picks the plan; equal seeds send alike.
	Seed uint64
	// Mix is what to send; empty is load.DefaultMix.
	Mix []load.Share
	// Duration ends the run after that time; zero means until told.
	Duration time.Duration
	// Timeout is the longest a request may take, connection included; zero
	// means ten seconds.
	Timeout time.Duration
	// SlowFor is how long the server is asked to hold a slow request; zero
	// means two seconds.
	SlowFor time.Duration
	// Out is the directory for records, live numbers and the report.
	Out string
	// Control is the directory with the files "start", "stop" and "mark-NAME".
	// When it is empty the run starts at once; else it waits for "start".
	Control string
}

// Defaults of a run.
const (
	defaultTimeout = 10 * time.Second
	defaultSlowFor = 2 * time.Second
)

// complete checks the configuration and fills in the defaults.
func (c Config) complete() (Config, error) {
	if c.Client == "" {
		return c, errors.New("the client needs a name")
	}
	if c.Out == "" {
		return c, fmt.Errorf("client %q: an output directory is needed", c.Client)
	}
	if len(c.Targets) == 0 {
		return c, fmt.Errorf("client %q: a target is needed", c.Client)
	}
	if c.Mix == nil {
		c.Mix = load.DefaultMix()
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.SlowFor == 0 {
		c.SlowFor = defaultSlowFor
	}
	if c.SlowFor >= c.Timeout {
		return c, fmt.Errorf("slow requests take %s, the timeout is %s: every slow request would be lost", c.SlowFor, c.Timeout)
	}
	return c, nil
}

// base checks the URL and gives it.
func (t Target) base() (*url.URL, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", t.URL, err)
	}
	if u.Scheme != "http" || u.Port() == "" || (u.Path != "" && u.Path != "/") {
		return nil, fmt.Errorf("target %q: want http://HOST:PORT", t.URL)
	}
	return u, nil
}

// name is the host that a target is asked for.
func (t Target) name(base *url.URL) string {
	if t.Host != "" {
		return t.Host
	}
	return base.Host
}
