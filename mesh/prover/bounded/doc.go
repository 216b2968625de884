// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bounded reads answers of others up to a bound.
//
// It promises that an answer which is longer fails, where io.LimitReader would end: a cut answer must not be taken for a
// whole one. It never reads more than the bound.
package bounded
