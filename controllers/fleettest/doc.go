// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleettest is a fleet in memory, for the tests of what talks to one: an API server for a hub or a member, a
// client of a hub, and the hub's end of the wire with real agents on it.
//
// It promises that server-side apply owns fields, meets conflicts and merges lists as the definitions in config/crd
// say; that an update of an object that has changed since is refused; and that everything that was asked of an API
// server is on record, so that a test can say that nothing was written.
//
// Of what is applied by a client of a hub it also refuses what config/crd does not allow.
//
// Owners makes of a hub one that tells the owners of a spec from those of a status, where it matters that something goes
// again which several managers wrote to.
//
// Of admission an API server does one thing: it refuses what a hub writes with an older epoch, as the agent's chart has it done.
//
// It runs no controller, no other admission and no CEL rule, and an API server of it has no watch. It is for tests only.
package fleettest
