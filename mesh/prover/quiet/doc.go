// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quiet measures, at the server's side, whether anything still arrives
// at a pod.
//
// The source is the statistics of the pod's own sidecar, which counts what it
// hands to the application whoever sent it: a client of the mesh, one without
// a sidecar, or one that pinned the address. What is not in the statistics is
// said to be not measured, and is never taken for zero.
package quiet
