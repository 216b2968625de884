// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package syncz

import (
	"context"
	"io"
	"strconv"
	"strings"
)

// ownVersion is the first minor version of Istio 1 in which a push of endpoints
// alone has a version of its own.
const ownVersion = 31

// Version reads the version of the replica at addr, for example
// 1.31.0-0123abc-Clean. It needs no token.
func (c *Client) Version(ctx context.Context, addr string) (string, error) {
	var text []byte
	err := c.read(ctx, addr, "/version", nil, func(body io.Reader) error {
		var err error
		text, err = io.ReadAll(io.LimitReader(body, 256))
		return err
	})
	return strings.TrimSpace(string(text)), err
}

// KeepsVersion tells whether an istiod of that version pushes endpoints under
// the version of the push before. One that can not be told is taken for such
// an older one, for which more is asked, and so is one that was built before the
// first release that does not.
func KeepsVersion(version string) bool {
	rest, ok := strings.CutPrefix(version, "1.")
	if !ok {
		return true
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	minor, err := strconv.Atoi(rest[:end])
	return err != nil || minor < ownVersion || minor == ownVersion && strings.Contains(rest[end:], "alpha")
}
