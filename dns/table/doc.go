// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table reads the table of names from a file, and keeps reading it.
//
// The file is a zone.Document in YAML or JSON:
//
//	serial: 7                        # generation and SOA serial; default 1
//	ttl: 5s                          # of names that state none; 0s to 1h, default 5s
//	clusterSet:                      # zone clusterset.local; leave out what is not served
//	  state: Synced                  # Synced (default), Stale or Unsynced
//	  nameServers: []                # name, addresses; default ns.clusterset.local
//	  services:                      # NAME.NAMESPACE.svc.clusterset.local
//	  - {namespace: demo, name: echo, addresses: [10.96.0.7], ttl: 5s}
//	global:
//	  origin: global.example.com
//	  state: Synced
//	  nameServers:
//	  - {name: ns1.global.example.com, addresses: [192.0.2.53]}
//	  clusters:                      # where clients enter each cluster
//	  - {name: c1, addresses: [192.0.2.1, "2001:db8::1"]}
//	  - {name: c2, addresses: [192.0.2.2]}
//	  services:                      # NAME.NAMESPACE.ORIGIN, and hostname
//	  - namespace: demo
//	    name: echo
//	    hostname: shop.global.example.com
//	    ttl: 10s
//	    clusters:                    # weight 0: not answered
//	    - {name: c1, weight: 2}
//	    - {name: c2, weight: 1}
//
// The package promises:
//
//   - A field that is not one of these, a value of another kind, a key twice: an
//     error with file, line and field, and no table.
//   - A file that can not be read or has an error leaves the table in force that
//     was, and is told once.
//   - A file that is still being written is not read: it must have been the same
//     for one interval, or whoever wrote it says so.
//   - What is read is bounded: 16 MiB, no aliases.
//
// It answers no question and writes no file.
package table
