// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission does with an object what an API server does between decoding and storing it: it fills in defaults,
// and says of every field what is wrong with it, in the same words.
//
// It works from the definitions in config/crd, rules in CEL included, so that a manifest in a file is held to what a
// cluster would hold it to, and there is one text of each rule. A v1alpha1.ClusterView, which no API server has, is
// checked in the same way, by a schema that is generated from its type like the others.
//
// What it promises: the same object gets the same answer; nothing is read from a clock or a cluster; an object with
// no error decodes into its Go type. It never changes an object but by defaults, and by dropping the fields that it
// has named as unknown. It never judges what only a running hub can know.
package admission
