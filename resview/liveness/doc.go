// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package liveness decides from an agent's beats how much contact the hub has with its member.
//
// It is pure: the time comes in as a value, and the same input gives the same verdict. A verdict speaks of contact with
// the agent only. That a member is silent does not mean that it is dead: silence alone never withdraws a serving
// cluster, and no state here says so.
package liveness
