// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Conflict is one property in which the exports of a name differ.
type Conflict struct {
	Reason mcsv1beta1.ServiceExportConditionReason
	// Property is its field, as users know it.
	Property string
	// Winner is the cluster whose value stands, and Value that value. Of ports,
	// those of the others that do not meet the winner's are added.
	Winner, Value string
	// Others are the values of the clusters that have another one, by cluster.
	Others []Differing
	// Of is the number of clusters that export.
	Of int
}

// Differing is another value, and whose.
type Differing struct{ Cluster, Value string }

// maxDiffering bounds how many differing clusters a message names.
const maxDiffering = 10

// String names the property, the winning value and cluster, and the others. It is
// the same as long as nobody's value changes.
func (c Conflict) String() string {
	named := c.Others[:min(len(c.Others), maxDiffering)]
	parts := make([]string, len(named))
	for i, o := range named {
		parts[i] = fmt.Sprintf("%s in cluster %s", o.Value, o.Cluster)
	}
	if more := len(c.Others) - len(named); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s: %s of cluster %s is used; %s (%d of %d clusters differ)",
		c.Property, c.Value, c.Winner, strings.Join(parts, ", "), len(c.Others), c.Of)
}

// property is one thing that exports are compared by.
type property struct {
	reason mcsv1beta1.ServiceExportConditionReason
	name   string
	value  func(Export) string
}

// properties stand in the order in which conditions name them.
var properties = []property{
	{mcsv1beta1.ServiceExportReasonPortConflict, "ports", func(e Export) string { return portList(e.Ports) }},
	{mcsv1beta1.ServiceExportReasonTypeConflict, "type", func(e Export) string { return string(e.Type) }},
	{mcsv1beta1.ServiceExportReasonSessionAffinityConflict, "sessionAffinity", func(e Export) string { return string(e.SessionAffinity) }},
	{mcsv1beta1.ServiceExportReasonSessionAffinityConfigConflict, "sessionAffinityConfig", affinityConfig},
	{mcsv1beta1.ServiceExportReasonInternalTrafficPolicyConflict, "internalTrafficPolicy", func(e Export) string {
		if e.InternalTrafficPolicy == nil {
			return string(corev1.ServiceInternalTrafficPolicyCluster)
		}
		return string(*e.InternalTrafficPolicy)
	}},
	{mcsv1beta1.ServiceExportReasonTrafficDistributionConflict, "trafficDistribution", func(e Export) string {
		if e.TrafficDistribution == nil {
			return nothing
		}
		return *e.TrafficDistribution
	}},
	{mcsv1beta1.ServiceExportReasonLabelsConflict, "exportedLabels", func(e Export) string { return pairs(e.Labels) }},
	{mcsv1beta1.ServiceExportReasonAnnotationsConflict, "exportedAnnotations", func(e Export) string { return pairs(e.Annotations) }},
	{mcsv1beta1.ServiceExportReasonIPFamilyConflict, "ipFamilies", families},
}

const nothing = "nothing"

// conflicts compares exports, of which the first is the winner.
func conflicts(order []Export) []Conflict {
	var out []Conflict
	for _, p := range properties {
		if p.reason == mcsv1beta1.ServiceExportReasonIPFamilyConflict && len(sharedFamilies(order)) > 0 {
			continue // The import keeps to those, and by them reaches all pods.
		}
		c := Conflict{Reason: p.reason, Property: p.name, Winner: order[0].Cluster, Value: p.value(order[0]), Of: len(order)}
		for _, e := range order[1:] {
			if v := p.value(e); v != c.Value {
				c.Others = append(c.Others, Differing{Cluster: e.Cluster, Value: v})
			}
		}
		if len(c.Others) > 0 {
			slices.SortFunc(c.Others, func(a, b Differing) int { return strings.Compare(a.Cluster, b.Cluster) })
			out = append(out, c)
		}
	}
	return out
}

// portList writes ports so that two lists of the same ports read the same.
func portList(ports []mcsv1beta1.ServicePort) string {
	parts := make([]string, len(ports))
	for i, p := range ports {
		parts[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.Name != "" {
			parts[i] = p.Name + " " + parts[i]
		}
		if p.AppProtocol != nil {
			parts[i] += " " + *p.AppProtocol
		}
	}
	slices.Sort(parts)
	return "[" + strings.Join(parts, ", ") + "]"
}

func affinityConfig(e Export) string {
	c := e.SessionAffinityConfig
	if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
		return nothing
	}
	return fmt.Sprintf("%d s", *c.ClientIP.TimeoutSeconds)
}

// families compares sets: the order is each cluster's own affair.
func families(e Export) string {
	names := make([]string, len(e.IPFamilies))
	for i, f := range e.IPFamilies {
		names[i] = string(f)
	}
	slices.Sort(names)
	return "[" + strings.Join(names, ", ") + "]"
}

func pairs(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for k, v := range m {
		parts = append(parts, fmt.Sprintf("%s=%q", k, v))
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}
