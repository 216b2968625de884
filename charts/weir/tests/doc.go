// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tests holds the chart to its promises: what it renders, which rights it grants, which values it refuses.
//
// It is a module of its own, since rendering needs Helm as a library, which the product does not.
package tests
