// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package echo is the application of the rig: a server that says which pod it
// is and keeps a ledger of all it did.
//
// It promises that every request is in the ledger before anything else happens
// to it, and its answer before the answer is sent; that a POST is executed as
// often as it arrives, so that one delivered twice shows; and that on SIGTERM it
// does just what its mode says: end at once, or serve on until the last request
// has come.
//
// It never refuses, delays or repeats work to make a run look better.
package echo
