// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestABriefTellsTheLastStepsAndWhatProofsLack(t *testing.T) {
	at := func(second int) metav1.MicroTime {
		return metav1.NewMicroTime(time.Date(2026, 11, 30, 18, 25, second, 0, time.UTC))
	}
	var gs v1alpha1.GlobalService
	gs.Name = "web"
	for n := range 8 {
		gs.Status.Steps = append(gs.Status.Steps, v1alpha1.StepRecord{Kind: "Renew", Goal: "Move", Generation: 4, FenceGeneration: int64(n), StartedAt: at(n)})
	}
	gs.Status.Rules.Level, gs.Status.Weights.Level = v1alpha1.ProofProven, v1alpha1.ProofProven
	gs.Status.Fence = v1alpha1.ProofStatus{
		Level: v1alpha1.ProofNone, Lease: v1alpha1.LeaseLapsed, Generation: 7, MissingCount: 9,
		Missing: []string{"c1/a: behind", "c1/b: behind", "c1/c: behind", "c1/d: behind"},
	}
	gs.Status.Shift.Blocked = []v1alpha1.Blocker{{Code: "FenceUnproven", Message: "waiting for c1"}}
	const want = `18:25:02.0 web Move Renew , generation 4, fence 2
18:25:03.0 web Move Renew , generation 4, fence 3
18:25:04.0 web Move Renew , generation 4, fence 4
18:25:05.0 web Move Renew , generation 4, fence 5
18:25:06.0 web Move Renew , generation 4, fence 6
18:25:07.0 web Move Renew , generation 4, fence 7
web: fence of generation 7 None, lease Lapsed, 9 missing: c1/a: behind; c1/b: behind; c1/c: behind
web: FenceUnproven: waiting for c1
`
	if got := brief(gs); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
