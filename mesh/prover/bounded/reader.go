// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bounded

import "io"

// Reader reads from another reader, up to a number of bytes. It is for one goroutine.
type Reader struct {
	from io.Reader
	left int64
	over error
}

// New returns a Reader that hands on up to bound bytes of from, and fails with over where the end of from has not come by
// then. The end has to be seen before the bound is reached: an answer of just the bound is too long.
func New(from io.Reader, bound int64, over error) *Reader {
	return &Reader{from: from, left: bound, over: over}
}

// Read reads, or fails with the error that New was given.
func (r *Reader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, r.over
	}
	if int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.from.Read(p)
	r.left -= int64(n)
	return n, err
}
