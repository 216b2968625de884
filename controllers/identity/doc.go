// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity keeps what the wire trusts in Secrets of the hub's own namespace: the authority that signs for hub
// and agents, and the join tokens. It also publishes, for kubectl weir join, where agents dial and whom they trust.
//
// It promises that of two hubs that start at once only one makes the authority, and that of two agents that show one
// token only one gets in: both rest on the API server's resourceVersion. Of a token's secret only a hash is kept.
package identity
