// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/pb"
)

// runningProver is a prover at work, and where it was told that it stands.
type runningProver struct {
	Prover
	clusterID, network, version string

	targets []prover.Target // handed over last
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// place makes a prover for where the member stands in its mesh, and another one when that changes: canaries show it to
// istiod when they connect. What the old one knew is lost, which costs a second look and nothing else.
func (a *Agent) place(ctx context.Context, member *pb.MemberFacts) error {
	p := a.prover
	if p != nil && p.clusterID == member.GetIstioClusterId() && p.network == member.GetNetwork() && p.version == member.GetIstioVersion() {
		return nil
	}
	made, err := a.config.NewProver(member)
	if err != nil {
		return fmt.Errorf("make the prover: %w", err)
	}
	p.stop()
	ctx, cancel := context.WithCancel(ctx)
	a.prover = &runningProver{
		Prover: made, cancel: cancel,
		clusterID: member.GetIstioClusterId(), network: member.GetNetwork(), version: member.GetIstioVersion(),
	}
	a.questions = questions{}
	a.prover.running.Go(func() { made.Run(ctx) })
	return nil
}

// watch hands over targets that differ from those before: each time costs the prover a round.
func (p *runningProver) watch(targets []prover.Target) error {
	if p.targets != nil && reflect.DeepEqual(p.targets, targets) {
		return nil
	}
	if err := p.Watch(targets); err != nil {
		return err
	}
	p.targets = targets
	return nil
}

// stop ends a prover and waits for it; one that never ran is no matter.
func (p *runningProver) stop() {
	if p != nil {
		p.cancel()
		p.running.Wait()
	}
}
