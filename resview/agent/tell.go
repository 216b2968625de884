// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/prover"
	"github.com/weir-io/weir/resview/inventory"
	"github.com/weir-io/weir/resview/pb"
)

// toldService is what was last told of a Service: the facts, by identity, and whether loads were filled in.
type toldService struct {
	facts  *pb.ServiceFacts
	loaded bool
}

// toldProof is what was last told of a target, with the time of its evidence instead of an age.
type toldProof struct {
	at    time.Time
	facts *pb.ProofFacts
}

// tell hands the hub's questions to the prover, and everything known to the client, which sends what changed.
func (a *Agent) tell(ctx context.Context, services map[types.NamespacedName]*pb.ServiceFacts, member *pb.MemberFacts) {
	a.mu.Lock()
	asked := a.asked
	a.member = member
	a.mu.Unlock()
	a.watch(ctx, asked, services)

	verdicts := map[prover.Key]prover.Verdict{}
	for _, v := range a.prover.Verdicts() {
		verdicts[v.Target] = v
	}
	now := time.Now()
	loads := a.rates.loads(verdicts, now)
	loadOf := func(namespace, name, _ string) *pb.Load { return loads[podKey(namespace+"/"+name)] }
	a.log("member", a.client.SetMember(inventory.WithGatewayLoads(withEvidence(member, verdicts), loadOf)))
	a.tellServed(a.config.Inventory.Served())
	a.tellServices(services, loadOf)
	a.client.InventoryListed()
	a.tellProofs(asked, verdicts, now)

	problems := a.config.Inventory.Problems()
	a.reporter.report(problems)
	a.metrics.services.Set(float64(globals(services)))
	a.metrics.targets.Set(float64(len(asked)))
	a.metrics.problems.Set(float64(len(problems)))
}

// tellServed tells what the member serves once that is known, and whenever it is another. The client sees what is new, but
// a long list that stays the same is not handed to it every second.
func (a *Agent) tellServed(served []string) {
	if slices.Equal(a.served, served) {
		return
	}
	err := a.client.SetServed(&pb.ServedAPIs{Apis: served})
	a.log("served APIs", err)
	if err == nil {
		a.served = served
	}
}

// globals counts the Services that are annotated as global: of others too there may be something to tell.
func globals(services map[types.NamespacedName]*pb.ServiceFacts) int {
	n := 0
	for _, s := range services {
		if s.GetAnnotations()[v1alpha1.AnnotationGlobal] == "true" {
			n++
		}
	}
	return n
}

// tellServices leaves alone what is the same as before, which at rest is all of it.
func (a *Agent) tellServices(services map[types.NamespacedName]*pb.ServiceFacts, load inventory.LoadOf) {
	for key, facts := range services {
		loaded := anyLoad(facts, load)
		if last, known := a.told[key]; known && last.facts == facts && !last.loaded && !loaded {
			continue
		}
		if loaded {
			a.log("service "+key.String(), a.client.SetService(inventory.WithLoads(facts, load)))
		} else {
			a.log("service "+key.String(), a.client.SetService(facts))
		}
		a.told[key] = toldService{facts: facts, loaded: loaded}
	}
	for key := range a.told {
		if services[key] == nil {
			a.client.RemoveService(key)
			delete(a.told, key)
			delete(a.complaint, "service "+key.String())
		}
	}
}

func anyLoad(facts *pb.ServiceFacts, load inventory.LoadOf) bool {
	for _, p := range facts.GetPods() {
		if load(facts.GetRef().GetNamespace(), p.GetName(), p.GetUid()) != nil {
			return true
		}
	}
	return false
}

// tellProofs tells each verdict that says something new, or that rests on newer evidence. Its age alone is not news.
func (a *Agent) tellProofs(asked []*pb.Target, verdicts map[prover.Key]prover.Verdict, now time.Time) {
	current := make(map[prover.Key]bool, len(asked))
	for _, t := range asked {
		key := keyOf(t.GetRef())
		current[key] = true
		v, judged := verdicts[key]
		if !judged {
			continue
		}
		settled := a.questions.settled(key, t.GetQuestion(), v.At)
		timeless := proofOf(v, t, settled, v.At)
		if last, known := a.proofs[key]; known && last.at.Equal(v.At) && proto.Equal(last.facts, timeless) {
			continue
		}
		a.proofs[key] = toldProof{v.At, timeless}
		a.log("proof "+key.String(), a.client.SetProof(proofOf(v, t, settled, now)))
	}
	for key := range a.proofs {
		if !current[key] {
			a.client.RemoveProof(types.NamespacedName(key))
			delete(a.proofs, key)
			delete(a.complaint, "proof "+key.String())
		}
	}
}

// watch hands the prover what is to be proven and measured.
func (a *Agent) watch(ctx context.Context, asked []*pb.Target, services map[types.NamespacedName]*pb.ServiceFacts) {
	selectors := make(map[prover.Key]map[string]string, len(services))
	for key, s := range services {
		selectors[prover.Key(key)] = s.GetSelector()
	}
	targets := targetsOf(asked, selectors)
	snapshot, err := a.config.Inventory.Snapshot(ctx)
	a.log("snapshot", err)
	if err == nil {
		targets = append(targets, gatewayTargets(snapshot.Pods, anyActive(targets))...)
	}
	err = a.prover.watch(targets)
	a.log("targets", err)
	if err == nil {
		a.questions.put(asked, time.Now())
	}
}

func anyActive(targets []prover.Target) bool {
	for _, t := range targets {
		if t.Active {
			return true
		}
	}
	return false
}

// log says once what could not be told, and again when it is another reason.
func (a *Agent) log(what string, err error) {
	if err == nil {
		delete(a.complaint, what)
		return
	}
	if text := fmt.Sprint(err); a.complaint[what] != text {
		a.complaint[what] = text
		a.config.Log.Error("not told to the hub", "what", what, "error", err)
	}
}
