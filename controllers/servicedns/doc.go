// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servicedns gives every GlobalService its names in one global zone, keeps the table from which the hub answers DNS
// questions, and says of each member how it stands in the answers.
//
//	GlobalServices, Clusters, drains ──gather──▶ names.Plan ──▶ zone.Compile ──▶ Server.Set
//	                                                                 Server.Report ──▶ names.StandingOf ──▶ status.names
//
// One look is at all services at once, since two may ask for one name.
//
// It promises that
//   - a member is on record as Named, in the object, before the first answer names it: whoever plans by a record that says
//     otherwise plans for one that no answer names;
//   - a member that its plan withdraws, that is fenced, or that was drained to its end is in no answer from the next table
//     on, and it is on record since when; it counts as Expired only when the last answer that named it has outlived its time,
//     and a hub that was restarted in between waits as long as any answer of before could be cached;
//   - what an annotation asks for and can not be served is told by the condition Resolvable, and costs that wish alone;
//   - a name that a service holds is not taken from it by another one that asks for it later.
//
// It decides no weight, and never that a member leaves: it follows the plan in the spec. It writes to no member.
package servicedns
