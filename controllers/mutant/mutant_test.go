// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mutant_test

import (
	"testing"

	"github.com/weir-io/weir/controllers/mutant"
)

func TestABuildWithoutTagsLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for name, skipped := range map[string]bool{
		"proof": mutant.SkipProof, "fence": mutant.SkipFence, "quiet": mutant.SkipQuiet,
	} {
		if skipped {
			t.Errorf("%s is left out of a build without tags", name)
		}
	}
}
