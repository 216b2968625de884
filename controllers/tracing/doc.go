// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes one trace of one drain: a root span, and under it a span for each step, each write to a member
// and each proof.
//
// A drain outlives the process that began it, so its identifiers are not drawn at random: trace and root span follow
// from the ClusterDrain's UID and from when its goal was set. Whoever adds a span, before or after a restart, adds it
// to the same trace. The root span is sent when the goal is reached.
//
// It never decides anything and never fails a caller: where no exporter is set, spans go nowhere.
package tracing
