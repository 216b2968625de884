// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"errors"
	"fmt"
)

// maxCount bounds every number of replicas, so that sums and products never overflow.
const maxCount = 1 << 20

// maxClusters bounds the clusters of one service.
const maxClusters = 1 << 10

// Validate reports everything that makes a State malformed. It does not judge whether
// the State is a good one to be in; that is what [Next] answers.
func Validate(s State) error {
	errs := []error{
		inRange("demand", int64(s.Demand), maxCount),
		inRange("minReady", int64(s.MinReady), maxCount),
		inRange("limits.maxStep", int64(s.Limits.MaxStep), int64(Whole)),
		inRange("limits.fenceStep", int64(s.Limits.FenceStep), maxCount),
		known("replicas", ownershipNames, uint8(s.Replicas)),
		known("steering", steeringNames, uint8(s.Steering)),
		known("headroom", headroomNames, uint8(s.Headroom)),
		known("record", recordNames, uint8(s.Record)),
		known("decision", decisionNames, uint8(s.Decision)),
	}
	for _, q := range []struct {
		name  string
		proof Proof
	}{{"rules", s.Rules}, {"weights", s.Weights}, {"fence", s.Fence}} {
		errs = append(errs,
			known(q.name+".level", levelNames, uint8(q.proof.Level)),
			known(q.name+".lease", leaseNames, uint8(q.proof.Lease)))
	}
	if len(s.Clusters) == 0 || len(s.Clusters) > maxClusters {
		errs = append(errs, fmt.Errorf("clusters: %d given, want 1 to %d", len(s.Clusters), maxClusters))
	}
	seen := make(map[string]bool, len(s.Clusters))
	for i := range s.Clusters {
		c := &s.Clusters[i]
		if c.Name == "" || seen[c.Name] {
			errs = append(errs, fmt.Errorf("clusters[%d]: name %q is empty or given twice", i, c.Name))
		}
		seen[c.Name] = true
		if err := validateCluster(&s, c); err != nil {
			errs = append(errs, fmt.Errorf("cluster %q: %w", c.Name, err))
		}
	}
	return errors.Join(append(errs, validateSums(&s))...)
}

// validateCluster checks what concerns one cluster alone.
func validateCluster(s *State, c *Cluster) error {
	errs := []error{
		inRange("before.replicas", int64(c.Before.Replicas), maxCount),
		inRange("target.replicas", int64(c.Target.Replicas), maxCount),
		inRange("floor", int64(c.Floor), maxCount),
		inRange("applied", int64(c.Applied), maxCount),
		inRange("ready", int64(c.Ready), maxCount),
		inRange("fenced", int64(c.Fenced), int64(c.Ready)),
		inRange("before.share", int64(c.Before.Share), int64(Whole)),
		inRange("target.share", int64(c.Target.Share), int64(Whole)),
		inRange("wrote", int64(c.Wrote), int64(Whole)),
		inRange("heldLo", int64(c.HeldLo), int64(c.HeldHi)),
		inRange("heldHi", int64(c.HeldHi), int64(Whole)),
		known("hold", holdNames, uint8(c.Hold)),
		known("scaler", scalerNames, uint8(c.Scaler)),
		known("goal", goalNames, uint8(c.Goal)),
		known("entry", entryNames, uint8(c.Entry)),
		known("dns", dnsNames, uint8(c.DNS)),
		known("quiet", quietNames, uint8(c.Quiet)),
		known("inFlight", inFlightNames, uint8(c.InFlight)),
		known("sight", sightNames, uint8(c.Sight)),
	}
	if c.Goal != Stay && s.Record != Open {
		errs = append(errs, errors.New("a goal is asked for, but the start of the move is not recorded: write it down and set record to Open"))
	}
	if c.Goal == Drain && (c.Target.Share != 0 || s.Replicas == Owned && c.Target.Replicas != 0) {
		errs = append(errs, errors.New("a drain's target must be zero"))
	}
	return errors.Join(errs...)
}

// validateSums checks that every split is whole.
func validateSums(s *State) error {
	var before, target, wrote int64
	stays := false
	for i := range s.Clusters {
		c := &s.Clusters[i]
		stays = stays || c.Goal != Drain && (c.Goal != Move || s.Replicas == Plain || c.Target.Replicas > 0)
		before += int64(c.Before.Share)
		target += int64(c.Target.Share)
		wrote += int64(c.Wrote)
	}
	var errs []error
	// Where every cluster leaves, nobody is left to be the target of anything.
	if target != int64(Whole) && (target != 0 || stays) {
		errs = append(errs, fmt.Errorf("target shares sum to %d, want %d", target, Whole))
	}
	if s.Record == Open && before != int64(Whole) {
		errs = append(errs, fmt.Errorf("shares before the move sum to %d, want %d", before, Whole))
	}
	if s.Steering == Always && s.Weights.Level != Unwritten && wrote != int64(Whole) {
		errs = append(errs, fmt.Errorf("written shares sum to %d, want %d", wrote, Whole))
	}
	return errors.Join(errs...)
}

func inRange(name string, v, most int64) error {
	if v < 0 || v > most {
		return fmt.Errorf("%s is %d, want 0 to %d", name, v, most)
	}
	return nil
}

func known(name string, names []string, v uint8) error {
	if _, err := textOf(names, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
