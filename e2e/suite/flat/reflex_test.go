// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package flat_test

import "testing"

func TestTheReflexLosesNoMoreThanWhatWasInFlight(t *testing.T) { world.Reflex(t) }
