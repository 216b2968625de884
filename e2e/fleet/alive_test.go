// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"errors"
	"net"
	"testing"

	"github.com/weir-io/weir/e2e/rig/process"
)

// alive says whether a process runs; one that has ended and was not yet waited for does not.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	all, err := process.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.PID == pid {
			return i.State != 'Z' && i.State != 'X'
		}
	}
	return false
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
