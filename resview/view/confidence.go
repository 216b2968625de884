// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// Confidence says in percent how far a view of this age is to be relied on: 100 while it is no older than fresh, then
// half as much for every further fresh, with straight lines between. It ends at 0, after seven halvings. Whoever discounts
// capacity by it does not fill what others may have taken since.
func Confidence(age, fresh time.Duration) int {
	if fresh <= 0 || age <= fresh {
		return 100
	}
	over := age - fresh
	halvings := int64(over / fresh)
	if halvings >= 7 {
		return 0
	}
	high := 100 >> halvings
	low := 100 >> (halvings + 1)
	part := over % fresh
	return high - int(int64(high-low)*int64(part/time.Millisecond)/max(1, int64(fresh/time.Millisecond)))
}
