// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite is what the end-to-end tests of weir share: a fleet, weir on it as a user would install it, and the demo's
// application under a load that does not stop from one test to the next.
//
// The tests stand in the folders flat and gateways, one for each topology, and run one after the other, as a machine holds one
// fleet. Most of them are a [Case]: one act under load.
//
// # What it promises
//
//   - A test answers for every request that was sent while it ran: lost or executed twice, it fails, whatever else it found.
//   - A test during which the machine was too busy is run once more, and says so. Too busy again, it fails as such: it is
//     neither a pass nor a fault of the product.
//   - Each test leaves the fleet as it found it, however it ends: no drain, the old split, no fence.
//
// # What it never does
//
// It gives weir no rights and no settings that a user has not, and looks at weir through weir's own objects only.
package suite
