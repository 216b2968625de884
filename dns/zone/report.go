// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import "time"

// Report is what one server knows of the answers it gave. It is what a shift needs to wait for caches.
type Report struct {
	// Since is when the server took its first table. Of answers before, by whoever answered then, it knows nothing.
	Since time.Time `json:"since"`
	// Serial of the table in force; 0: none yet.
	Serial uint32 `json:"serial"`
	// Given holds what was answered and may still be cached, in the order of name and cluster.
	Given []Given `json:"given"`
}

// Given is the last answer under one name that named one cluster.
type Given struct {
	Target
	// Last is when that answer was given, rounded up to a tenth of a second.
	Last time.Time `json:"last"`
	// CachedUntil is when the last of all such answers has outlived its TTL, rounded up likewise. It may be of an
	// earlier answer than Last where the TTL was lowered since.
	CachedUntil time.Time `json:"cachedUntil"`
}
