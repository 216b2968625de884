// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sched

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
)

// A Fleet is all views, made ready to decide by. It is never changed, and serves many goroutines.
type Fleet struct {
	members   []member // by name
	index     map[string]int
	catalogue fit.Catalogue
}

// A member is one cluster's view, made ready.
type member struct {
	view       *ClusterView
	filter     filter.Cluster
	confidence int64
	old        string // what is to be said of a view that is not fresh
	room       fit.Room
	hash       uint64
}

// NewFleet makes views ready. It refuses a cluster without a name and one that is there twice.
func NewFleet(views []ClusterView) (*Fleet, error) {
	f := &Fleet{index: make(map[string]int, len(views)), members: make([]member, 0, len(views))}
	for i := range views {
		v := &views[i]
		m := member{view: v, confidence: min(max(v.Confidence, 0), 100), hash: hash(v.Cluster)}
		m.filter = filter.Cluster{
			Name: v.Cluster, Fields: fields(v), Labels: v.Labels, Taints: v.Taints,
			Duty: v.Duty, Health: v.Health, Seen: v.Seen, Stale: m.confidence == 0,
		}
		if m.confidence < 100 {
			m.old = fmt.Sprintf("the view is not fresh: %d percent of the room in it count", m.confidence)
		}
		if v.Seen {
			m.room = f.catalogue.Room(v.Nodes)
		}
		f.members = append(f.members, m)
	}
	slices.SortFunc(f.members, func(a, b member) int { return strings.Compare(a.view.Cluster, b.view.Cluster) })
	for i := range f.members {
		name := f.members[i].view.Cluster
		if name == "" {
			return nil, errors.New("a view names no cluster")
		}
		if _, there := f.index[name]; there {
			return nil, fmt.Errorf("cluster %q has two views: give one", name)
		}
		f.index[name] = i
	}
	return f, nil
}

// fields of a cluster that it has.
func fields(v *ClusterView) map[string]string {
	out := map[string]string{}
	if v.Region != "" {
		out[filter.Region] = v.Region
	}
	if v.Zone != "" {
		out[filter.Zone] = v.Zone
	}
	return out
}

// softTaint reports whether the cluster asks to be avoided by work with these tolerations.
func (m *member) softTaint(tolerations []match.Toleration) bool {
	if len(m.filter.Taints) == 0 {
		return false
	}
	taint, repelled := match.Repelled(m.filter.Taints, tolerations)
	return repelled && taint.Effect == match.PreferNoSchedule
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

// mixed is one hash of two.
func mixed(a, b uint64) uint64 {
	x := a ^ b<<1 ^ b>>63
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
