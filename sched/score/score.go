// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package score

// MaxWeight is the greatest weight that a preference may give.
const MaxWeight = 1_000_000

// unit is what weight 1 is in a division, so that it can be halved twice.
const unit = 4

// Weights are what a preferred weight comes to: for replicas that stand, and for new ones. Suspicion halves the weight for
// new ones, and so does a taint that asks to be avoided.
func Weights(preferred int64, suspect, softTaint bool) (standing, fresh int64) {
	standing = unit * min(max(preferred, 0), MaxWeight)
	fresh = standing
	if suspect {
		fresh /= 2
	}
	if softTaint {
		fresh /= 2
	}
	return standing, fresh
}

// Believed is how much of room counts at a confidence in percent.
func Believed(room, confidence int64) int64 { return room * confidence / 100 }

// ToBelieve is how much room has to be there for n to be believed at a confidence over 0.
func ToBelieve(n, confidence int64) int64 { return (n*100 + confidence - 1) / confidence }
