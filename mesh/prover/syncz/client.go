// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package syncz

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weir-io/weir/mesh/prover/bounded"
)

var (
	// ErrNoAccess means that the replica answers and does not let us read: no
	// token or another identity than needed (401, 403), or debug endpoints
	// that are switched off (404).
	ErrNoAccess = errors.New("istiod does not give access to its debug endpoints")
	// ErrNotConnected means that the proxy asked for is not connected to this
	// replica.
	ErrNotConnected = errors.New("proxy is not connected to this istiod")
	// ErrTooLarge means that an answer is larger than the bound.
	ErrTooLarge = errors.New("answer is larger than the bound")
)

// Bounds on one answer, when Client sets none. A connection takes about 1.5 KiB
// of syncz; a sidecar's clusters, listeners and routes about 5 KiB a service.
const (
	DefaultTimeout  = 2 * time.Second
	DefaultMaxBytes = 64 << 20
	DefaultMaxProxy = 20_000
)

// Client asks replicas of istiod. Its zero value is ready for use without a
// token. It is safe for use from several goroutines.
type Client struct {
	// HTTP sends the requests; nil means http.DefaultClient.
	HTTP *http.Client
	// Token gives the bearer token of each request; nil sends none.
	Token func(context.Context) (string, error)
	// Timeout bounds one request from start to end; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxBytes bounds one answer; 0 means DefaultMaxBytes.
	MaxBytes int64
	// MaxProxies bounds the connections of one answer; 0 means DefaultMaxProxy.
	MaxProxies int
}

// Syncz lists the connections of the replica whose debug endpoints are at addr
// (host:port).
func (c *Client) Syncz(ctx context.Context, addr string) ([]Connection, error) {
	var out []Connection
	err := c.read(ctx, addr, "/debug/syncz", nil, func(body io.Reader) error {
		var err error
		out, err = Decode(body, c.maxProxies())
		return err
	})
	return out, err
}

// Config reads the clusters, listeners and routes of one proxy, as JSON in the
// form of Envoy's ConfigDump, and hands the body to use. The replica makes it
// anew for each request from the push that it last started for the proxy.
func (c *Client) Config(ctx context.Context, addr, proxy string, use func(io.Reader) error) error {
	query := url.Values{"proxyID": {proxy}, "types": {
		strings.Join([]string{typeClusters, typeListeners, typeRoutes}, ","),
	}}
	err := c.read(ctx, addr, "/debug/config_dump", query, use)
	// 404 is the answer here for a proxy that went elsewhere.
	var refused *statusError
	if errors.As(err, &refused) && refused.code == http.StatusNotFound {
		return fmt.Errorf("proxy %s at istiod %s: %w", proxy, addr, ErrNotConnected)
	}
	return err
}

func (c *Client) read(ctx context.Context, addr, path string, query url.Values, use func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	where := url.URL{Scheme: "http", Host: addr, Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return fmt.Errorf("istiod %s: %s: %w", addr, path, err)
	}
	if c.Token != nil {
		token, err := c.Token(ctx)
		if err != nil {
			return fmt.Errorf("istiod %s: token: %w", addr, err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("istiod %s: %s: %w", addr, path, err)
	}
	defer func() {
		// A drained body lets the connection be used again.
		_, _ = io.CopyN(io.Discard, resp.Body, 4096)
		_ = resp.Body.Close()
	}()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("istiod %s: %s: %w", addr, path, &statusError{code: resp.StatusCode})
	}
	body := bounded.New(resp.Body, c.maxBytes(), ErrTooLarge)
	if err := use(body); err != nil {
		return fmt.Errorf("istiod %s: %s: %w", addr, path, err)
	}
	return nil
}

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}

func (c *Client) maxBytes() int64 {
	if c.MaxBytes > 0 {
		return c.MaxBytes
	}
	return DefaultMaxBytes
}

func (c *Client) maxProxies() int {
	if c.MaxProxies > 0 {
		return c.MaxProxies
	}
	return DefaultMaxProxy
}

// statusError is an answer other than 200.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("answer %d %s", e.code, http.StatusText(e.code))
}

// Is makes the three answers that mean "you may not" ErrNoAccess.
func (e *statusError) Is(target error) bool {
	if target != ErrNoAccess {
		return false
	}
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return true
	}
	return false
}
