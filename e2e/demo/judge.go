// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/load"
)

// judge tells the outcome and gives the error that decides the exit code. The
// verdict is the last line, unless the run proves nothing.
func judge(r Result, tell *narrator) error {
	for _, a := range r.Acts {
		if a.Sent > 0 {
			tell.say("%s", a)
		}
	}
	if len(r.Starved) > 0 {
		return ErrStarved
	}
	if r.Mode == Naive {
		return judgeNaive(r, tell)
	}
	return judgeWeir(r, tell)
}

// String tells the act in a line. Latencies are those of requests that were answered.
func (a ActRecord) String() string {
	line := fmt.Sprintf("%-18s from %s sent %5d, lost %4d, p50 %s, p99 %s", a.Name, a.From.UTC().Format(time.TimeOnly), a.Sent, a.Lost,
		a.Latency.P50.Round(time.Millisecond), a.Latency.P99.Round(time.Millisecond))
	if a.Apart > 0 {
		line += fmt.Sprintf("; %d more lost, which are counted apart below", a.Apart)
	}
	return line
}

// judgeNaive wants losses. What was in flight counts as lost here.
func judgeNaive(r Result, tell *narrator) error {
	tell.say("%s; %d POSTs were executed twice.", r.Bound, r.Duplicated)
	tell.last(load.Verdict(r.Lost+r.InFlight, r.Sent))
	if r.Lost+r.InFlight == 0 {
		return ErrNothingLost
	}
	return nil
}

// judgeWeir wants none lost and none executed twice, on enough requests, with
// the evidence for it, and a control that lost some.
func judgeWeir(r Result, tell *narrator) error {
	tell.say("In flight at the kill, and failed: %d. Nothing could have saved them.", r.InFlight)
	tell.say("Through ingress gateways during the kill, which no rule of weir's protects: %d of %d lost.", r.Unprotected.Lost, r.Unprotected.Sent)
	tell.say("Powered off without weir: %d of %d lost.", r.Naive.Lost, r.Naive.Sent)
	tell.say("POSTs executed twice: %d. %s.", r.Duplicated, r.Bound)
	for _, line := range told(r.Steps) {
		tell.say("%s", line)
	}
	var all []error
	if complaint := r.Complaint(20); complaint != "" {
		tell.say("%s", complaint)
		for _, step := range r.Steps {
			tell.say("%s %s %s of %s", step.Time.UTC().Format("15:04:05.000"), step.Goal, step.Kind, step.Cluster)
		}
		all = append(all, ErrLost)
	}
	if r.Naive.Lost == 0 {
		all = append(all, ErrNothingLost)
	}
	if r.Sent < atLeast {
		all = append(all, fmt.Errorf("only %d requests were sent, the verdict needs %d", r.Sent, atLeast))
	}
	all = append(all,
		checkSteps(r.Steps, v1alpha1.GoalDrain, v1alpha1.GoalUndrain, v1alpha1.GoalAbort, v1alpha1.GoalMove),
		checkOrder(r.Steps, namespace+"/"+webName, victim))
	tell.last(load.Verdict(r.Lost, r.Sent))
	return errors.Join(all...)
}
