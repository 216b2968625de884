// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"
	"strings"

	"github.com/weir-io/weir/sched/match"
	"github.com/weir-io/weir/sched/reason"
)

// A Health is what liveness makes of a cluster.
type Health uint8

// The states of health.
const (
	Healthy     Health = iota
	Suspect            // beats are late
	Dead               // neither agent nor API server answer
	Partitioned        // silent, while traffic to it succeeds
)

// A Duty is what people want of a cluster as a whole.
type Duty uint8

// The duties.
const (
	InService Duty = iota
	Drained        // to be emptied
	LeftOut        // not there, in a what-if question
)

// A Cluster is what the filter knows of a cluster.
type Cluster struct {
	Name           string
	Fields, Labels map[string]string
	Taints         []match.Taint
	Duty           Duty
	Health         Health
	// Seen: there is a view of its nodes. Stale: it is too old to place anything by.
	Seen, Stale bool
}

// Fields of a cluster that a wish may look at.
const (
	Region = "region"
	Zone   = "zone"
)

// A Wish is which clusters a workload may be in. Everything that is stated must hold; what is empty holds everywhere.
type Wish struct {
	Names       map[string]bool
	Fields      match.Selector // of a cluster: region and zone, which it lacks where they are empty
	Labels      match.Selector
	Tolerations []match.Toleration
	// Kind of the workload, as group/version/Kind.
	Kind string
}

// An Outcome is what a cluster may hold of the workload.
type Outcome uint8

// The outcomes.
const (
	Open   Outcome = iota // new replicas too
	Closed                // what it has
	Out                   // nothing
)

// Judge decides about a cluster, with the reason for anything but Open. Served says whether its API server serves the
// wish's kind: see Serves.
func Judge(w *Wish, c *Cluster, served bool) (Outcome, reason.Code, string) {
	switch {
	case c.Duty == Drained:
		return Out, reason.Drained, "the cluster is being drained"
	case c.Duty == LeftOut:
		return Out, reason.LeftOut, "the question leaves the cluster out"
	case w.Names != nil && !w.Names[c.Name]:
		return Out, reason.NotSelected, "the placement names other clusters"
	case !w.Fields.Matches(c.Fields):
		return Out, reason.NotSelected, "the placement wants another region or zone"
	case !w.Labels.Matches(c.Labels):
		return Out, reason.NotSelected, "the placement wants other labels than the cluster has"
	}
	if taint, repelled := match.Repelled(c.Taints, w.Tolerations); repelled && taint.Effect != match.PreferNoSchedule {
		if taint.Effect == match.NoExecute {
			return Out, reason.Evicted, "the taint " + taint.String() + " is not tolerated"
		}
		return Closed, reason.Tainted, "the taint " + taint.String() + " is not tolerated"
	}
	switch {
	case c.Health == Dead:
		return Closed, reason.Dead, "the cluster is dead: it keeps its replicas and gets none"
	case c.Health == Partitioned:
		return Closed, reason.Partitioned, "the cluster is cut off from the hub: it keeps its replicas and gets none"
	case !c.Seen:
		return Closed, reason.NoView, "there is no view of the cluster's nodes"
	case c.Stale:
		return Closed, reason.StaleView, "the view of the cluster's nodes is too old to place by"
	case !served:
		return Closed, reason.NotServed, "the cluster does not serve " + w.Kind
	}
	return Open, "", ""
}

// Serves says whether an API server that serves these, each as group/version or group/version/Kind, serves a kind. One of
// which nothing is listed serves all.
func Serves(served []string, kind string) bool {
	if len(served) == 0 || kind == "" {
		return true
	}
	version := kind[:max(0, strings.LastIndexByte(kind, '/'))]
	return slices.Contains(served, kind) || slices.Contains(served, version)
}
