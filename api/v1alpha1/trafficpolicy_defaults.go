// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "fmt"

// DefaultMaxStepPercent is the part of the whole traffic that one step moves where a policy does not say.
const DefaultMaxStepPercent = 50

// DefaultTrafficPolicySpec is the policy of a Service that names none: what the API server makes of an empty spec.
func DefaultTrafficPolicySpec() TrafficPolicySpec {
	return TrafficPolicySpec{
		Mode:      ModeFollowReplicas,
		OnFailure: FailureSpill,
		Failback:  FailbackAutomatic,
		Pace:      ShiftPace{MaxStepPercent: DefaultMaxStepPercent},
		Retries:   RetryPolicy{Mode: RetryAuto},
		Headroom:  HeadroomWarn,
		Steering:  SteeringAlways,
	}
}

// Unserved names the fields of a policy that this build accepts but does not serve, each as path and value, in the
// order of the spec; none: the policy is served whole. A policy with any is answered by Ready=False, reason
// NotSupported, and nothing is written for the services that name it. Fields that are not set are served.
func (s *TrafficPolicySpec) Unserved() []string {
	var out []string
	if s.Mode != "" && s.Mode != ModeFollowReplicas {
		out = append(out, fmt.Sprintf("spec.mode: %s", s.Mode))
	}
	if n := len(s.Overflow); n > 0 {
		out = append(out, fmt.Sprintf("spec.overflow: %d rules", n))
	}
	if s.OnFailure != "" && s.OnFailure != FailureSpill {
		out = append(out, fmt.Sprintf("spec.onFailure: %s", s.OnFailure))
	}
	if s.Failback != "" && s.Failback != FailbackAutomatic {
		out = append(out, fmt.Sprintf("spec.failback: %s", s.Failback))
	}
	if s.Steering != "" && s.Steering != SteeringAlways {
		out = append(out, fmt.Sprintf("spec.steering: %s", s.Steering))
	}
	return out
}

// FenceStep is how many of pods running pods one step may fence or unfence: at least 1, and 0 where there are none.
func (p ShiftPace) FenceStep(pods int32) int32 {
	if pods <= 0 {
		return 0
	}
	if p.FenceStepPods > 0 {
		return min(p.FenceStepPods, pods)
	}
	percent := p.MaxStepPercent
	if percent <= 0 {
		percent = DefaultMaxStepPercent
	}
	// Whole hundreds apart from the rest, so that no number of pods overflows.
	step := pods/100*percent + (pods%100*percent+99)/100
	return min(step, pods)
}
