// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package member is the one door to a member's API server. Every write that weir makes in a member goes through it.
//
// It promises that
//   - nothing is written that stands already: an Apply that would change nothing sends nothing;
//   - a field that somebody else wrote is never taken from them: server-side apply without force, and the conflict
//     comes back as a ForeignError that names the other writer;
//   - what is deleted is ours: it carries weir's label and the resourceVersion that was read;
//   - a member that does not answer costs the caller one time-out: until the back-off has passed, Open says at once
//     that the member is not connected;
//   - a hostile API server costs bounded memory, and cannot send the hub on to another address.
//
// It never decides what to write, and it keeps no picture of the member: that comes from the agent.
package member
