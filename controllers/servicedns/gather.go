// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/dns/zone"
	"github.com/weir-io/weir/dns/zone/names"
)

// input is everything one look rests on.
type input struct {
	zone     *Zone // nil: none is served
	services []v1alpha1.GlobalService
	clusters map[string]*v1alpha1.Cluster
	drained  map[string]bool // members that were taken out of service, to the end
	now      time.Time
}

func (r *Reconciler) gather(ctx context.Context) (*input, error) {
	in := &input{zone: r.Zone, clusters: map[string]*v1alpha1.Cluster{}, drained: map[string]bool{}, now: r.Now()}
	var services v1alpha1.GlobalServiceList
	if err := r.Client.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list global services: %w", err)
	}
	in.services = services.Items
	var clusters v1alpha1.ClusterList
	if err := r.Client.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	for i := range clusters.Items {
		in.clusters[clusters.Items[i].Name] = &clusters.Items[i]
	}
	var drains v1alpha1.ClusterDrainList
	if err := r.Client.List(ctx, &drains); err != nil {
		return nil, fmt.Errorf("list cluster drains: %w", err)
	}
	for _, d := range drains.Items {
		if d.Spec.Desired != v1alpha1.InService && d.DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionDrained) {
			in.drained[d.Spec.ClusterName] = true
		}
	}
	return in, nil
}

// fleet is what names depend on; recorded leaves out members that are not on record as Named.
func (in *input) fleet(recorded bool) names.Fleet {
	fleet := names.Fleet{Global: in.zone.plain(), TTL: in.zone.defaultTTL()}
	for _, c := range in.clusters {
		fleet.Clusters = append(fleet.Clusters, names.Cluster{Name: c.Name, Gateways: waysIn(c), Service: presence(in.drained[c.Name])})
	}
	for i := range in.services {
		fleet.Services = append(fleet.Services, in.service(&in.services[i], recorded))
	}
	return fleet
}

// plan is what shall be answered, and what is said of each service besides.
type plan struct {
	doc     zone.Document
	reasons map[types.NamespacedName][]names.Reason
	general []names.Reason // about no service
	answers map[zone.Target]bool
}

// plan says what shall be answered, of members too that are not on record yet.
func (in *input) plan() (*plan, error) {
	out := &plan{reasons: map[types.NamespacedName][]names.Reason{}, answers: map[zone.Target]bool{}}
	var all []names.Reason
	out.doc, all = names.Plan(in.fleet(false))
	for _, reason := range all {
		if reason.Name == "" {
			out.general = append(out.general, reason)
			continue
		}
		key := types.NamespacedName{Namespace: reason.Namespace, Name: reason.Name}
		out.reasons[key] = append(out.reasons[key], reason)
	}
	table, err := compile(out.doc)
	if err != nil {
		return nil, err
	}
	for _, target := range table.Targets() {
		out.answers[target] = true
	}
	return out, nil
}

// compile makes a table of what was planned, which by the promise of package names it always is one.
func compile(doc zone.Document) (*zone.Table, error) {
	table, faults := zone.Compile(doc)
	if len(faults) > 0 {
		return nil, fmt.Errorf("the names make no table, the one before stays in force: %w", faults[0])
	}
	return table, nil
}

// waysIn are the addresses by which clients from outside enter a member: those that its registration states, else those
// that its agent saw. A host name is none: an answer holds addresses.
func waysIn(c *v1alpha1.Cluster) []netip.Addr {
	texts := c.Status.IngressAddresses
	if len(c.Spec.IngressAddresses) > 0 {
		texts = c.Spec.IngressAddresses
	}
	var out []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil && zone.CheckAddress(a) == nil {
			out = append(out, a)
		}
	}
	return out
}

func presence(out bool) names.Presence {
	if out {
		return names.Out
	}
	return names.In
}

func (in *input) service(gs *v1alpha1.GlobalService, recorded bool) names.Service {
	out := names.Service{Namespace: gs.Namespace, Name: gs.Name}
	if w := gs.Status.NameWishes; w != nil {
		out.Hostname, out.TTL = w.Hostname, w.TTL
	}
	if gs.Status.Names != nil {
		out.Holds = gs.Status.Names.Hosts
	}
	for _, seen := range gs.Status.Clusters {
		if in.clusters[seen.Name] == nil {
			continue // its registration is gone, and with it the way in
		}
		p := planOf(gs, seen.Name)
		away := p.DNS == v1alpha1.DNSWithdrawn || p.NewPods == v1alpha1.PodsFenced
		out.Clusters = append(out.Clusters, names.Entry{
			Cluster: seen.Name, Weight: weightOf(gs, p, seen), Presence: presence(away || recorded && !onRecord(gs, seen.Name)),
		})
	}
	return out
}

// planOf is the plan for a member; the zero value where there is none yet.
func planOf(gs *v1alpha1.GlobalService, cluster string) v1alpha1.GlobalServiceCluster {
	for _, p := range gs.Spec.Clusters {
		if p.Name == cluster {
			return p
		}
	}
	return v1alpha1.GlobalServiceCluster{Name: cluster}
}

// weightOf is a member's part of the answers: that of the traffic where weights are planned, else by the replicas there. One
// that comes back is named before its weight rises.
func weightOf(gs *v1alpha1.GlobalService, p v1alpha1.GlobalServiceCluster, seen v1alpha1.GlobalServiceClusterStatus) uint32 {
	positive := func(n int32) uint32 { return uint32(max(n, 0)) }
	switch {
	case gs.Spec.Phase == v1alpha1.RulesWeights && p.Weight == 0:
		return positive(min(seen.Ready-seen.Fenced, 1))
	case gs.Spec.Phase == v1alpha1.RulesWeights:
		return positive(p.Weight)
	}
	for _, c := range gs.Status.Clusters {
		if c.Replicas > 0 {
			return positive(min(seen.Replicas, zone.MaxWeight))
		}
	}
	return 1 // nobody has any: each is as good as the others
}

// onRecord says whether a member is known to be named, to everybody who reads the object.
func onRecord(gs *v1alpha1.GlobalService, cluster string) bool {
	row := rowOf(gs, cluster)
	return row != nil && row.Standing == v1alpha1.StandingNamed && row.OutSerial == 0
}

func rowOf(gs *v1alpha1.GlobalService, cluster string) *v1alpha1.ClusterNames {
	if gs.Status.Names == nil {
		return nil
	}
	for i := range gs.Status.Names.Clusters {
		if gs.Status.Names.Clusters[i].Name == cluster {
			return &gs.Status.Names.Clusters[i]
		}
	}
	return nil
}

// described is what the table says of one service.
type described struct {
	hosts []string // with a dot at their end; the first is NAME.NAMESPACE.ZONE
	ttl   zone.TTL
}

// describe finds each service of a plan.
func (p *plan) describe() map[types.NamespacedName]described {
	out := map[types.NamespacedName]described{}
	if p.doc.Global == nil {
		return out
	}
	for _, s := range p.doc.Global.Services {
		d := described{hosts: []string{canonical(s.Name + "." + s.Namespace + "." + p.doc.Global.Origin)}, ttl: zone.DefaultTTL}
		if host := canonical(s.Hostname); s.Hostname != "" && host != d.hosts[0] {
			d.hosts = append(d.hosts, host)
		}
		switch {
		case s.TTL != nil:
			d.ttl = *s.TTL
		case p.doc.TTL != nil:
			d.ttl = *p.doc.TTL
		}
		out[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = d
	}
	return out
}

// trimmed are host names as people write them, sorted.
func trimmed(hosts []string) []string {
	out := make([]string, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, strings.TrimSuffix(h, "."))
	}
	slices.Sort(out)
	return out
}
