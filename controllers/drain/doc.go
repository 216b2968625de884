// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain turns a ClusterDrain into a goal that every service's shift works for, and sums up how far they are.
//
// It promises that
//   - a drain that would leave some service without a ready copy is refused before anything moves, unless the user
//     chose to skip such services; the last copy itself is never taken;
//   - a drain that is turned round before its end is an abort, after its end an undrain, also when the object is
//     deleted: a finalizer holds it until traffic has returned;
//   - safeToPowerOff is true only when every global service here is drained, the cluster's own gateways are quiet and
//     no caller from outside the mesh arrives any more.
//
// It moves nothing itself: the goal stands in the ClusterDrain's status, and the shift controller reads it there.
package drain
