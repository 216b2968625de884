// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gateways_test

import (
	"testing"

	"github.com/weir-io/weir/e2e/rig"
)

func TestThePartsAreTheRealOnes(t *testing.T) {
	if err := world.Fleet().Audit(t.Context(), func(c rig.Check) { t.Log(c) }); err != nil {
		t.Error(err)
	}
}
