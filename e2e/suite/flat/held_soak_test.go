// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import "time"

// heldFor is how long an agent is held in the long tail.
const heldFor = time.Minute
