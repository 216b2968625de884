// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures weir's hub on a real API server.
//
// For the division of workloads it runs the hub's own controllers in this process, on the API server and store of a fleet's
// hub. For views it runs weir's hub as the program that it is, and dials in with agents' own recorders and ends of the wire.
// Members are registered and not there: their nodes are made up, and nothing is written to them.
//
// It promises that what it calls decided or written was read back from the API server, that its counts of requests are those
// that left the process, and that times of views are those that the hub's metrics tell. They are of the machine that it runs
// on, with all that runs beside it.
//
// It never judges: it prints.
package bench
