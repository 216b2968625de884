// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package match tells whether labels meet requirements, and whether taints are tolerated, by the rules of Kubernetes.
//
// Clusters and nodes carry the same kinds of labels and taints, so both are matched here. A requirement that cannot be
// understood matches nothing: work is never put where nobody meant it to be. It knows nothing of objects.
package match
