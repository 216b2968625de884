// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Bounds of what Brief tells of one service.
const (
	briefSteps   = 6
	briefMissing = 3
)

// briefLimit is how long a brief waits for a hub that may be what is wrong.
const briefLimit = 20 * time.Second

// Brief says in a few lines how far the moves of services are: the last steps of each, and what its proofs lack. It is for the
// end of a long log, which is all that some readers get, and is told also when ctx has ended.
func (p *Product) Brief(ctx context.Context, ns string, names ...string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), briefLimit)
	defer cancel()
	var b strings.Builder
	for _, name := range names {
		gs, err := p.Service(ctx, ns, name)
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
			continue
		}
		b.WriteString(brief(gs))
	}
	return b.String()
}

func brief(gs v1alpha1.GlobalService) string {
	var b strings.Builder
	steps := gs.Status.Steps
	for _, s := range steps[max(0, len(steps)-briefSteps):] {
		fmt.Fprintf(&b, "%s %s %s %s %s, generation %d, fence %d\n",
			s.StartedAt.UTC().Format("15:04:05.0"), gs.Name, s.Goal, s.Kind, s.Cluster, s.Generation, s.FenceGeneration)
	}
	for _, proof := range []struct {
		of string
		is v1alpha1.ProofStatus
	}{{"rules", gs.Status.Rules}, {"weights", gs.Status.Weights}, {"fence", gs.Status.Fence}} {
		if proof.is.Level == v1alpha1.ProofProven || proof.is.Level == "" {
			continue
		}
		missing := proof.is.Missing[:min(len(proof.is.Missing), briefMissing)]
		fmt.Fprintf(&b, "%s: %s of generation %d %s, lease %s, %d missing: %s\n",
			gs.Name, proof.of, proof.is.Generation, proof.is.Level, proof.is.Lease, proof.is.MissingCount, strings.Join(missing, "; "))
	}
	for _, blocked := range gs.Status.Shift.Blocked {
		fmt.Fprintf(&b, "%s: %s: %s\n", gs.Name, blocked.Code, blocked.Message)
	}
	return b.String()
}
