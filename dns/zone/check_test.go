// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone_test

import (
	"testing"

	"github.com/weir-io/weir/dns/zone"
)

func TestAHostNameHasLettersOfASCIIAlone(t *testing.T) {
	for name, good := range map[string]bool{
		"Kube.global.example.com":      true,
		"\u212aube.global.example.com": false, // The sign of kelvin, whose lower case is a k.
		"\u017fhop.global.example.com": false, // The long s, whose upper case is an S.
	} {
		if _, err := zone.CheckHostname("global.example.com.", name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
