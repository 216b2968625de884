// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mcs holds what the Multi-Cluster Services API (KEP-1645) asks of weir:
// which Services are exported, how the exports of several clusters become one
// import, and what the conditions on both say.
//
// DecideExport says what to do with the ServiceExport of one cluster, NewExport
// reads it together with its Service, Merge makes one Import of all of them, and
// ServiceImport writes that Import for one cluster.
//
// The package promises:
//
//   - The oldest export wins, ties go to the cluster's name, and whoever wins now
//     goes on winning while it still exports: clocks of different API servers and
//     a re-created export flip nothing.
//   - An export that cannot be heard of stays in the merge with what was last
//     known of it. Silence is not an unexport.
//   - The type of an import stays while one export still supports it, since live
//     clients hold answers of that type.
//   - The result depends on the set of exports and on the import that stands now,
//     never on an order or a clock.
//   - An object that weir did not make is never overwritten.
//
// It makes no EndpointSlices: on a flat mesh Istio has its own way to endpoints.
// It never puts a finalizer on a ServiceExport, because Istio counts an export
// that waits for one as exported.
package mcs
