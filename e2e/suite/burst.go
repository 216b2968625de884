// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/rig/netns"
)

// burstLimit is how long one request of a burst may take, as a client's does.
const burstLimit = 10 * time.Second

// Burst is many requests at nearly the same time, from one place.
type Burst struct {
	// From is the network namespace that they are sent in.
	From netns.Space
	// URL is the application's, without a path, and Host what they ask for; empty is the URL's.
	URL, Host string
	// Requests is how many there are, Every the time between two.
	Requests int
	Every    time.Duration
}

// Send sends them all, waits for each, and counts those that were not answered well.
func (b Burst) Send(ctx context.Context) (lost int, err error) {
	through := &http.Transport{DialContext: b.From.Dial, MaxIdleConnsPerHost: b.Requests}
	defer through.CloseIdleConnections()
	client := &http.Client{Transport: through, Timeout: burstLimit}
	begin := time.Now().UnixNano()
	tick := time.NewTicker(b.Every)
	defer tick.Stop()
	var failed atomic.Int64
	var all errgroup.Group
	for i := range b.Requests {
		select {
		case <-ctx.Done():
			return int(failed.Load()), ctx.Err()
		case <-tick.C:
		}
		all.Go(func() error {
			ok, err := b.one(ctx, client, "burst-"+strconv.FormatInt(begin, 36)+"-"+strconv.Itoa(i))
			if !ok {
				failed.Add(1)
			}
			return err
		})
	}
	err = all.Wait()
	return int(failed.Load()), err
}

// one sends one POST, which no proxy sends twice. Only what says that the test is wrong is an error.
func (b Burst) one(ctx context.Context, client *http.Client, id string) (ok bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL+"/once", http.NoBody)
	if err != nil {
		return false, err
	}
	r.Header.Set(load.IDHeader, id)
	r.Host = b.Host
	answer, err := client.Do(r)
	if err != nil {
		return false, nil // A lost request is what is counted here.
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	return err == nil && answer.StatusCode == http.StatusOK, nil
}
