// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"github.com/weir-io/weir/controllers/mutant"
	"github.com/weir-io/weir/mesh/shift"
)

// mutate takes as given what a mutant build leaves out. It changes nothing in any other build.
func mutate(s *shift.State) {
	sure := shift.Proof{Level: shift.Proven, Lease: shift.Fresh}
	for i := range s.Clusters {
		c := &s.Clusters[i]
		if mutant.SkipProof {
			s.Rules, s.Weights, s.Fence = sure, sure, sure
			c.HeldLo, c.HeldHi = c.Wrote, c.Wrote
		}
		if mutant.SkipFence && c.Goal == shift.Drain && c.Wrote == 0 {
			s.Fence = sure
			c.Fenced, c.Entry = c.Ready, shift.Shut
		}
		if mutant.SkipQuiet {
			c.Quiet, c.InFlight = shift.Twice, shift.NoWork
		}
	}
}
