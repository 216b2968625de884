// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures weir's hub on a real API server.
//
// It runs the hub's own controllers in this process, on the API server and store of a fleet's hub. Members are registered and
// not there: what is known of their nodes is made up, and nothing is written to them.
//
// It promises that what it calls decided or written was read back from the API server, and that its counts of requests are
// those that left the process. Its times are those of the machine that it runs on, with all that runs beside it.
//
// It never judges: it prints.
package bench
