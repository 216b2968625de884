// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"time"
)

// shiftLimit is how long a shift may take in all on a machine with much beside it.
const shiftLimit = 2 * time.Minute

// look is how often something that is waited for is looked at.
const look = 200 * time.Millisecond

// Until waits until nothing is missing, it fails, or the limit has passed; the last answer says what was missing.
func (c *Case) Until(ctx context.Context, limit time.Duration, what string, missing func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	last := ""
	for {
		now, err := missing(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("wait for %s: %w", what, err)
		case err == nil && now == "":
			return nil
		case err == nil:
			last = now
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: not within %s; last: %s", what, limit, last)
		case <-tick.C:
		}
	}
}

// Throughout looks for a time whether something stays as it is; wrong says in what way it is not.
func (c *Case) Throughout(ctx context.Context, span time.Duration, wrong func(context.Context) (string, error)) error {
	end := time.NewTimer(span)
	defer end.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		what, err := wrong(ctx)
		if err != nil {
			return err
		}
		if what != "" {
			return fmt.Errorf("it did not stay as it was: %s", what)
		}
		select {
		case <-end.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
