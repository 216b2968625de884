// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Import is what the exports of one name come to, the same for every cluster.
type Import struct {
	// Winner is the cluster whose values stand where exports differ.
	Winner string
	// Clusters are those that export, by name. Empty means that there is no
	// import: nobody exports.
	Clusters []string
	// Unheard are those of Clusters of which only old news is used, with the time
	// since when. It moves no field of the import.
	Unheard map[string]time.Time
	// Continuity is set where an older export stands back because Winner was
	// there first.
	Continuity bool

	Type                  mcsv1beta1.ServiceImportType
	Ports                 []mcsv1beta1.ServicePort
	SessionAffinity       corev1.ServiceAffinity
	SessionAffinityConfig *corev1.SessionAffinityConfig
	InternalTrafficPolicy *corev1.ServiceInternalTrafficPolicy
	TrafficDistribution   *string
	// IPFamilies are those that every export has, in the winner's order; the
	// winner's own where they have none in common.
	IPFamilies          []corev1.IPFamily
	Labels, Annotations map[string]string
}

// Present is what of an import must be known to go on with it. The zero value is
// for a name that has no import yet.
type Present struct {
	Winner string
	Type   mcsv1beta1.ServiceImportType
}

// Present returns what the next Merge of the same name is to be told.
func (i Import) Present() Present { return Present{Winner: i.Winner, Type: i.Type} }

// Merge makes one import of the valid exports of a name, and says in what they
// differ. The present winner goes on while it exports the present type; else the
// oldest of that type wins, and only when no export has that type any more the
// oldest of all. Of two exports of one cluster the older counts.
func Merge(present Present, exports []Export) (Import, []Conflict) {
	var valid []Export
	for _, e := range byAge(exports) {
		if e.Invalid == "" && !slices.ContainsFunc(valid, func(v Export) bool { return v.Cluster == e.Cluster }) {
			valid = append(valid, e)
		}
	}
	if len(valid) == 0 {
		return Import{}, nil
	}
	order := precedence(present, valid)
	first := order[0]
	imp := Import{
		Winner:                first.Cluster,
		Unheard:               map[string]time.Time{},
		Continuity:            first.Cluster != valid[0].Cluster,
		Type:                  first.Type,
		Ports:                 mergePorts(order),
		SessionAffinity:       first.SessionAffinity,
		SessionAffinityConfig: first.SessionAffinityConfig,
		InternalTrafficPolicy: first.InternalTrafficPolicy,
		TrafficDistribution:   first.TrafficDistribution,
		IPFamilies:            commonFamilies(order),
		Labels:                maps.Clone(first.Labels),
		Annotations:           maps.Clone(first.Annotations),
	}
	for _, e := range valid {
		imp.Clusters = append(imp.Clusters, e.Cluster)
		if !e.UnheardSince.IsZero() {
			imp.Unheard[e.Cluster] = e.UnheardSince
		}
	}
	slices.Sort(imp.Clusters)
	return imp, conflicts(order)
}

// precedence returns the exports with the winner first and the others by age.
func precedence(present Present, byAge []Export) []Export {
	win := 0
	if i := slices.IndexFunc(byAge, func(e Export) bool { return e.Type == present.Type }); i >= 0 {
		win = i
		if p := slices.IndexFunc(byAge, func(e Export) bool {
			return e.Type == present.Type && e.Cluster == present.Winner
		}); p >= 0 {
			win = p
		}
	}
	rest := slices.Delete(slices.Clone(byAge), win, win+1)
	return append([]Export{byAge[win]}, rest...)
}

// mergePorts joins the port lists. A port that an earlier export has, by name or
// by protocol and number, is not taken again: a Service with such a list would
// be refused. An empty name is a name.
func mergePorts(order []Export) []mcsv1beta1.ServicePort {
	var out []mcsv1beta1.ServicePort
	for _, e := range order {
		for _, p := range e.Ports {
			taken := slices.ContainsFunc(out, func(o mcsv1beta1.ServicePort) bool {
				return o.Name == p.Name || o.Protocol == p.Protocol && o.Port == p.Port
			})
			if !taken {
				out = append(out, p)
			}
		}
	}
	return out
}

// commonFamilies returns the families that an import has.
func commonFamilies(order []Export) []corev1.IPFamily {
	if shared := sharedFamilies(order); len(shared) > 0 {
		return shared
	}
	return slices.Clone(order[0].IPFamilies)
}

// sharedFamilies returns the families by which all exports can be reached, in the
// winner's order.
func sharedFamilies(order []Export) []corev1.IPFamily {
	var out []corev1.IPFamily
	for _, f := range order[0].IPFamilies {
		if !slices.ContainsFunc(order, func(e Export) bool { return !slices.Contains(e.IPFamilies, f) }) {
			out = append(out, f)
		}
	}
	return out
}
