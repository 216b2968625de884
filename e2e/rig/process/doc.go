// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts programs that outlive the one that started them, remembers them in a directory, and ends them.
//
// Each program is one JSON file in the directory: name, process number and the kernel's start time of that process. The
// start time tells a process from a later one that was given the same number, so nothing is ever signalled that this
// package did not start. Any process may open the directory and go on from there.
//
// It never signals by a program's name and never restarts anything by itself.
package process
