// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// settleTime is how long a member must have told of a Service before the first rules are written there. An agent hears of
// rules and of Services by two watches, and the hub of members by a stream each: who writes his rule and annotates the
// Service a moment later may be heard in the other order. Nobody waits for a first split, so it is many times what
// watches lag behind each other.
const settleTime = 3 * time.Second

// looksForRules is what a service, or a member, waits for until it has settled.
const looksForRules = "looking for rules that others wrote there for the host; it goes on by itself in a moment"

// noteHeard writes down since when each member tells of the Service, and marks those that have told for a moment only.
func (r *Reconciler) noteHeard(in *input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heard == nil {
		r.heard = map[types.NamespacedName]map[string]time.Time{}
	}
	before, now := r.heard[in.key], map[string]time.Time{}
	for i := range in.members {
		m := &in.members[i]
		if m.facts == nil {
			continue
		}
		since, known := before[m.name]
		if !known {
			since = in.now
		}
		now[m.name] = since
		m.fresh = in.now.Sub(since) < r.settle
	}
	r.heard[in.key] = now
	if len(now) == 0 {
		delete(r.heard, in.key)
	}
}

// unsettled says that a service without rules waits before its first ones are planned.
func (in *input) unsettled(spec v1alpha1.GlobalServiceSpec) *problem {
	if hasRules(spec) || len(in.exporters()) < 2 {
		return nil
	}
	for _, m := range in.members {
		if m.fresh {
			return &problem{v1alpha1.ReasonLookingForRules, inMember(m.name, looksForRules)}
		}
	}
	return nil
}

// settling says whether some member has told of its Service for a moment only: nobody tells when that is over.
func (in *input) settling() bool {
	return slices.ContainsFunc(in.members, func(m memberView) bool { return m.fresh })
}

// holdsRules says why the rules of a member are held back: which ones others wrote there for the host may not be known yet.
// Either its Service has only just become global, and not all of weir's rules stand there; or it has just got a Service
// that stands in, and its agent has not told of it; or its agent is not heard, and no rule of weir's stood before.
func (in *input) holdsRules(m memberView, o order) error {
	if m.fresh && !standAll(m, o.rules) {
		return errors.New(looksForRules)
	}
	if !m.tells() && len(o.rules) > 0 && in.service.Spec.Phase == v1alpha1.RulesDestinationRules {
		return errors.New("its agent has not told which rules others wrote there for the host: look at its pod there and at its way to the hub")
	}
	if !m.seen || m.standIn != nil || len(o.rules) == 0 || !wantsStandIn(o) {
		return nil
	}
	made, tried := in.standIns[m.name]
	if made.why != "" || tried && in.now.Sub(made.since) > standInWait {
		return nil
	}
	return errors.New(looksForRules)
}

// standAll says whether a member's agent tells of each of the rules.
func standAll(m memberView, rules []map[string]any) bool {
	told := map[string]bool{}
	for _, r := range m.rules() {
		told[r.GetKind()+" "+r.GetNamespace()+"/"+r.GetName()] = true
	}
	return !slices.ContainsFunc(rules, func(rule map[string]any) bool { return !told[ruleKey(rule)] })
}
