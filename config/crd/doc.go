// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions of group federation.weir.io as files, and gives them to programs
// that check objects without an API server.
//
// The files are generated from the types in api/v1alpha1 and never edited. The package decides nothing and writes
// nowhere: installing the definitions is the chart's business.
package crd
