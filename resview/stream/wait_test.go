// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"testing/synctest"
	"time"
)

// wait lets the fake time of a bubble pass, and everything settle that happens in it.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// hangs is a probe of an API server that does not answer.
func hangs(ctx context.Context) bool {
	<-ctx.Done()
	return false
}
