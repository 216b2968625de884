// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !soak

package flat_test

import "time"

// heldFor is how long an agent is held: longer than any step takes. The long tail holds it for a minute.
const heldFor = 8 * time.Second
