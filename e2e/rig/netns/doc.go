// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netns makes, enters and removes named network namespaces, so that a whole fleet of clusters can run on one
// machine while the machine's own network gets no address, route or rule.
//
// It promises that whatever it changes is inside a namespace that it made, and that a dial into a namespace leaves the
// calling thread in the namespace it came from.
//
// It never touches a namespace that it was not given by name, and it holds no state: any process may open a [Space]
// that another one made.
package netns
