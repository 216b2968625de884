// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps append-only files that survive the sudden end of
// whoever writes them.
//
// It promises that a line is handed to the kernel by one write before Append
// returns, so that nothing but the end of the machine itself can lose it: no
// buffer in the process, no flush to forget. A file belongs to one process; its
// name says which, and from when.
//
// It does not sync to disk: the rig takes processes away, never the machine
// that holds the files.
package journal
