// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adapter turns API objects and views into what sched decides by.
//
// It is the one way there: the hub's controllers and weir simulate both go through it, so that a question asked of files
// and the same state in a running hub get the same answer.
//
//	FederatedDeployment + preference ── [Wish] ──▶ wish of a ResourceBinding ── [Request] ──▶ sched.Request
//	              └──────────────────────────────────── [Refine] ───────────────────────────────▲
//	Cluster ── [Cluster] ──▶ sched.ClusterView ◀── [See] ── ClusterView of a file
//	                                           ◀── [Watch] ─ view of an agent
//
// A wish says of pods what is the same in every cluster. Refine adds what only the FederatedDeployment tells: that an
// override gives a cluster's pods other needs, and that no two of them may share a node.
//
// Of node affinity it takes the required terms; one that names nodes by field (matchFields) matches none, for the hub
// knows nodes by label only. Numbers that are larger than any cluster has are taken as the largest, so that sums hold.
package adapter
