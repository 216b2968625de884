// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shift decides the next safe step when a service's traffic and replicas
// move from one split over clusters to another.
package shift
