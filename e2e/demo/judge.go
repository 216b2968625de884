// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"strings"
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
	if r.Complaint(0) != "" {
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
	// The failures stand last, next to the verdict: who reads only the end of a long log must find them.
	for _, line := range r.complaints() {
		tell.say("%s", line)
	}
	tell.last(load.Verdict(r.Lost, r.Sent))
	return errors.Join(all...)
}

// Bounds of what is told of failures: how many, and for how many of them the steps that were taken around them.
const (
	toldFailures = 20
	toldSteps    = 3
	stepsBefore  = 20 * time.Second
	stepsAfter   = 2 * time.Second
)

// complaints are the lines that say what was lost or executed twice, in which act, and which steps were taken around it; none
// when nothing was.
func (r Result) complaints() []string {
	complaint := r.Complaint(toldFailures)
	if complaint == "" {
		return nil
	}
	lines := strings.Split(complaint, "\n")
	for _, f := range r.Failures[:min(len(r.Failures), toldSteps)] {
		at := time.Unix(0, f.Sent)
		line := f.ID + " was sent in no act"
		for _, a := range r.Acts {
			if !at.Before(a.From) && at.Before(a.To) {
				line = fmt.Sprintf("%s was sent %s into act %s", f.ID, at.Sub(a.From).Round(time.Millisecond), a.Name)
			}
		}
		lines = append(lines, line)
		for _, s := range r.Steps {
			if s.Time.After(at.Add(-stepsBefore)) && s.Time.Before(at.Add(stepsAfter)) {
				lines = append(lines, fmt.Sprintf("  %s before: %s %s of %s for %s", at.Sub(s.Time).Round(time.Millisecond), s.Goal, s.Kind, s.Cluster, s.Service))
			}
		}
	}
	return lines
}
