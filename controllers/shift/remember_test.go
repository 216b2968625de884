// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

func TestAStepThatWentOnWithoutAProxySaysTimed(t *testing.T) {
	p := v1alpha1.ProofStatus{Level: v1alpha1.ProofNone, Missing: []string{"c1/proxy web.demo: ProxyBehind"}}
	if got := remembered(p, shift.Timed); got.Level != v1alpha1.ProofTimed || len(got.Missing) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := remembered(p, shift.Waiting); got.Level != v1alpha1.ProofNone {
		t.Errorf("got %+v", got)
	}
}
