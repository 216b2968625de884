// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"encoding/json"
	"strconv"
	"strings"
)

// ownVersion is the first minor version of Istio 1 in which a push of endpoints
// alone has a version of its own.
const ownVersion = 31

// keepsVersion tells from the identifier that istiod gives itself whether it is
// of a version that pushes endpoints under the version of the push before.
// What can not be read is taken for a newer one: then the ledger still notices
// when it sees two answers under one version.
func keepsVersion(identifier string) bool {
	var id struct {
		Info struct {
			Version string `json:"version"`
		}
	}
	if json.Unmarshal([]byte(identifier), &id) != nil {
		return false
	}
	rest, ok := strings.CutPrefix(id.Info.Version, "1.")
	if !ok {
		return false
	}
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits >= 0 {
		rest = rest[:digits]
	}
	minor, err := strconv.Atoi(rest)
	return err == nil && minor < ownVersion
}
