// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads a fleet and its workloads from manifests, for questions that need no cluster.
//
// [Read] takes the content of files, YAML or JSON, several documents or a List in one. What an API server would check it
// checks, by the same schemas and rules, and besides what a controller would find wrong; defaults are filled in. Every
// fault is told with file, line and field, not only the first. Kinds that no question uses are counted and passed over,
// but one that weir's group does not have was mistyped.
//
// It opens no file and asks no server. Aliases, depth and size are bounded by the decoders and [MaxSize].
package manifest
