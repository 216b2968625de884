// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package member is the one door to a member's API server. Every write that weir makes in a member goes through it.
//
// It promises that
//   - nothing is written that stands already: an Apply that would change nothing sends nothing;
//   - a field that somebody else wrote is never taken from them: server-side apply without force, and the conflict
//     comes back as a ForeignError that names the other writer. What is changed all the same, by Amend, is asked for by
//     name, on top of the version that was read: an autoscaler's limits in a drain, which come back;
//   - what is deleted is ours: it carries weir's label and the resourceVersion that was read;
//   - everything that is written bears the hub and the epoch of its leader, by which the member's own admission refuses an
//     older leader, and another hub. Nothing is written where that was not taken and seen to be refused;
//   - a member that does not answer costs the caller one time-out: until the back-off has passed, Open says at once
//     that the member is not connected;
//   - a hostile API server costs bounded memory, and cannot send the hub on to another address.
//
// # The epoch
//
// A Term is the time for which one process leads the hub. Before its first write it reads what all members hold and takes
// a number above that, by the Record on the hub, which gives none twice. Each member gets that number before anything else
// is written there. A term raises its number where it finds a higher one in a member that it has not written to; where it
// has, somebody came after it, and it only reads there from then on. So two processes that both believe to lead end with
// one that writes, and do not take the member from each other in turns.
//
// A delete has no object to bear an epoch: it is written on the object first, and then that version is deleted. A status is
// written in the same way.
//
// It never decides what to write, and it keeps no picture of the member: that comes from the agent.
package member
