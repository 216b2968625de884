// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy answers each TrafficPolicy whether this build serves it. It writes nothing but that answer.
package policy
