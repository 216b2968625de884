// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package syncz reads what one replica of istiod tells of its proxies over its
// debug endpoints: what it sent to each and what each acknowledged, and what
// one proxy's configuration is.
//
// It asks one replica by its own address, since a Service would answer for
// another. Answers are bounded in size and in time. It keeps nothing between
// calls, judges nothing, and never asks for secrets: a configuration is asked
// for by the types of resources that are wanted.
package syncz
