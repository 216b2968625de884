// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package census finds the proxies of a member that should be connected to an
// istiod and are not.
//
// A proxy that istiod does not list keeps the rules it had and goes on sending
// by them, so no list of acknowledgements is complete without this one. The
// package is pure: pods and connected proxies in, missing proxies out. It never
// asks anything and never waits.
package census
