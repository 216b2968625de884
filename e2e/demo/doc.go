// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package demo shows on a fleet of real clusters what taking one away costs,
// without weir and with it.
//
// A run is a list of named acts. Each says in plain words what it does, does it
// under load, and waits for what it said. At the end every request is settled
// against the servers' ledgers, and the last line printed is the number of lost
// requests: the truth, whatever it is.
//
// It promises that a run that could not be measured, because the machine was
// too busy, is never reported as good or bad; that the naive run fails when it
// loses nothing, since a control that cannot fail proves nothing; and that the
// files it writes hold the evidence for every number it prints.
//
// It never changes how clients or servers behave to make an act succeed.
package demo
