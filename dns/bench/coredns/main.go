// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with the plugins that weir's names are measured beside, and no other. It is a module of
// its own, so that what CoreDNS needs is no part of weir.
package main

import (
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/metrics"

	"github.com/coredns/coredns/coremain"
)

func main() {
	coremain.Run()
}
