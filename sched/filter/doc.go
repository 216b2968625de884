// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filter decides which clusters may hold a workload at all.
//
// [Judge] looks at one cluster: at what people want (placement, tolerations, drains) first, then at what is known of it
// (health, its view, the kinds it serves). A cluster that people do not want loses what it has; one that only looks
// unwell, or that nobody can see into, keeps it and gets nothing new, for silence is no reason to move pods.
package filter
