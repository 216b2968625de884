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

// Config says what to send, where, and what to keep of it.
type Config struct {
	// Client names this client in ids, files and reports.
	Client string
	// Target is the base URL: http, a host, a port, no path.
	Target string
	// Host replaces the host of the target in the requests, if set. An ingress
	// gateway picks its route by it.
	Host string
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
func (c Config) complete() (Config, *url.URL, error) {
	if c.Client == "" {
		return c, nil, errors.New("the client needs a name")
	}
	if c.Out == "" {
		return c, nil, fmt.Errorf("client %q: an output directory is needed", c.Client)
	}
	u, err := url.Parse(c.Target)
	if err != nil {
		return c, nil, fmt.Errorf("target %q: %w", c.Target, err)
	}
	if u.Scheme != "http" || u.Port() == "" || (u.Path != "" && u.Path != "/") {
		return c, nil, fmt.Errorf("target %q: want http://HOST:PORT", c.Target)
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
		return c, nil, fmt.Errorf("slow requests take %s, the timeout is %s: every slow request would be lost", c.SlowFor, c.Timeout)
	}
	return c, u, nil
}
