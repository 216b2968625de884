// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package concern finds out from a proxy's configuration by what ways it can
// reach a host: by routes of ours, by others' routes, by a TCP chain or any
// other use of the host's clusters, by a cluster alone, or not at all.
//
// Proxies of one scope class, which is all that istiod's choice of
// configuration depends on, are alike, so one dump of one of them stands for
// all. The package is pure: it reads JSON and compares names, and knows nothing
// of generations that are wanted or of who is asked.
package concern
