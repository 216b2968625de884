// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes container images as OCI archives from files of this machine, without a registry or a daemon.
//
// The same files give the same bytes: times are zero and entries are in order, so an image's digest tells its content.
// Layers are not compressed, for they never leave the machine.
//
// It never runs what it packs and never reads anything that it was not told to.
package image
