// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// viewLasts is how old what the hub says of a member may be while it counts as present: a hub that hears the member renews
// it once a minute.
const viewLasts = 2 * time.Minute

// Whether what is known of a member is known now.
const (
	stateKnown   = "Known"
	stateUnknown = "Unknown"
)

// What members are summed up by, besides labels.
const (
	byRegion = "region"
	byZone   = "zone"
)

func newTop(o *options) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "top",
		Short: "What members have, what is taken and free there, and what arrives at global services",
		Long: `top sums up the hub's view of each member: nodes, replicas of federated workloads (ready of decided), and by resource what
pods may use (ALLOCATABLE), what replicas that are decided and not ready yet will take (RESERVED), what pods request
(ALLOCATED), and what is left of it (FREE, on all nodes together: it may be in pieces). Then, for each global service and
member, what is in flight and what arrives.

AGE is how old a view is; while a member is heard it may be a minute. A member that is not heard, and one of which the hub
has said nothing for two minutes, is Unknown: its last numbers are in no sum, and are shown in -o json alone, as lastKnown.

--by sums members up by region, zone, or the value of a label of the Cluster.`,
		Example: "  kubectl weir top\n  kubectl weir top --by region\n  kubectl weir top --by example.com/tier -o json",
		Args:    exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := o.fleet(cmd.Context())
			if err != nil {
				return err
			}
			if err := f.has(by); err != nil {
				return err
			}
			t := topOf(f, by, time.Now())
			if o.output == "json" {
				return printJSON(cmd.OutOrStdout(), t)
			}
			return t.write(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "sum up by region, zone or a label of the Clusters; empty: all members together")
	return cmd
}

// fleet is what top and explain look at.
type fleet struct {
	clusters []v1alpha1.Cluster
	drains   []v1alpha1.ClusterDrain
	services []v1alpha1.GlobalService
	bindings []v1alpha1.ResourceBinding
}

func (o *options) fleet(ctx context.Context) (*fleet, error) {
	h, err := o.hub()
	if err != nil {
		return nil, err
	}
	return h.fleet(ctx)
}

func (h *hub) fleet(ctx context.Context) (*fleet, error) {
	var clusters v1alpha1.ClusterList
	var drains v1alpha1.ClusterDrainList
	var services v1alpha1.GlobalServiceList
	var bindings v1alpha1.ResourceBindingList
	for _, l := range []struct {
		what string
		list client.ObjectList
	}{
		{"clusters (is weir installed on this cluster?)", &clusters},
		{"cluster drains", &drains},
		{"global services", &services},
		{"resource bindings", &bindings},
	} {
		if err := h.List(ctx, l.list); err != nil {
			return nil, fmt.Errorf("list %s: %w", l.what, err)
		}
	}
	return &fleet{clusters.Items, drains.Items, services.Items, bindings.Items}, nil
}

// top is what top prints. Its fields are stable.
type top struct {
	Clusters []topCluster `json:"clusters"`
	// Groups sum up the members that are known, by what --by named; of one that is not, only the name is there.
	Groups   []topGroup   `json:"groups"`
	Services []topService `json:"services"`
}

type topCluster struct {
	Name   string `json:"name"`
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	Group  string `json:"group"`
	// State is Known or Unknown; Reason says why it is Unknown.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Healthy is the condition of the Cluster, with its reason where it is not True.
	Healthy string `json:"healthy"`
	// Drain is the goal of the member's ClusterDrain, or empty.
	Drain string `json:"drain,omitempty"`
	// View is what is known now; absent where State is Unknown. LastKnown is then what was known last, if anything was.
	View      *topView `json:"view,omitempty"`
	LastKnown *topView `json:"lastKnown,omitempty"`
}

type topView struct {
	Version           int64 `json:"version"`
	AgeSeconds        int64 `json:"ageSeconds"`
	ConfidencePercent int32 `json:"confidencePercent"`
	topSum
	LargestFree []v1alpha1.FreeShape `json:"largestFree,omitempty"`
}

// topSum is what members have and what is taken of it.
type topSum struct {
	Nodes int64 `json:"nodes"`
	// ReplicasDecided and ReplicasReady are those of federated workloads.
	ReplicasDecided int64 `json:"replicasDecided"`
	ReplicasReady   int64 `json:"replicasReady"`
	// ReplicasUnknown are those of which nobody sees now whether they are ready: they are not among the ready ones.
	ReplicasUnknown int64                             `json:"replicasUnknown,omitempty"`
	Resources       map[corev1.ResourceName]topAmount `json:"resources"`
}

// topAmount is one resource: free is allocatable without what is allocated, and never below 0.
type topAmount struct {
	Allocatable resource.Quantity `json:"allocatable"`
	Reserved    resource.Quantity `json:"reserved"`
	Allocated   resource.Quantity `json:"allocated"`
	Free        resource.Quantity `json:"free"`
}

type topGroup struct {
	Name string `json:"name"`
	// Clusters are those in the sum; Unknown are those left out of it.
	Clusters []string `json:"clusters"`
	Unknown  []string `json:"unknown"`
	topSum
}

type topService struct {
	Namespace string              `json:"namespace"`
	Name      string              `json:"name"`
	Clusters  []topServiceCluster `json:"clusters"`
}

// topServiceCluster is what arrives in one member. What is not measured, or not known now, is absent.
type topServiceCluster struct {
	Name                   string `json:"name"`
	State                  string `json:"state"`
	Ready                  *int32 `json:"ready,omitempty"`
	Replicas               *int32 `json:"replicas,omitempty"`
	InFlight               *int64 `json:"inFlight,omitempty"`
	ArrivalsMilliPerSecond *int64 `json:"arrivalsMilliPerSecond,omitempty"`
}

func topOf(f *fleet, by string, now time.Time) *top {
	t := &top{Clusters: []topCluster{}, Groups: []topGroup{}, Services: []topService{}}
	unknown := map[string]string{}
	for i := range f.clusters {
		c := &f.clusters[i]
		row := topCluster{Name: c.Name, Region: c.Spec.Region, Zone: c.Spec.Zone, Group: groupOf(c, by), State: stateKnown, Drain: f.drainOf(c.Name)}
		row.Healthy = condition(c.Status.Conditions, v1alpha1.ConditionHealthy)
		view := f.viewOf(c, now)
		if row.Reason = unknownBecause(c, now); row.Reason != "" {
			row.State, row.LastKnown = stateUnknown, view
			unknown[c.Name] = row.Reason
		} else {
			row.View = view
		}
		t.Clusters = append(t.Clusters, row)
	}
	t.Groups = append(t.Groups, groups(t.Clusters)...)
	for i := range f.services {
		t.Services = append(t.Services, topServiceOf(&f.services[i], unknown))
	}
	return t
}

// unknownBecause says why what is known of a member is not known now; empty: it is.
func unknownBecause(c *v1alpha1.Cluster, now time.Time) string {
	healthy := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionHealthy)
	switch v := c.Status.View; {
	case healthy == nil:
		return "NeverHeard"
	case healthy.Status == metav1.ConditionUnknown:
		return healthy.Reason
	case v == nil || v.TrueAt == nil:
		return "NoView"
	case now.Sub(v.TrueAt.Time) > viewLasts:
		return "NotRenewed"
	}
	return ""
}

// has refuses what no member can be summed up by, which is most likely misspelt, and says what they can.
func (f *fleet) has(by string) error {
	switch {
	case by == "", by == byRegion, by == byZone, len(f.clusters) == 0:
		return nil
	}
	known := map[string]bool{}
	for i := range f.clusters {
		for label := range f.clusters[i].Labels {
			known[label] = true
		}
	}
	if known[by] {
		return nil
	}
	possible := append([]string{byRegion, byZone}, slices.Sorted(maps.Keys(known))...)
	return &ExitError{ExitUsage, fmt.Errorf("--by %q: no Cluster has a label of that name; give one of %s", by, strings.Join(possible, ", "))}
}

func groupOf(c *v1alpha1.Cluster, by string) string {
	switch by {
	case "":
		return "all"
	case byRegion:
		return cmp.Or(c.Spec.Region, "none")
	case byZone:
		if c.Spec.Zone == "" {
			return "none"
		}
		return cmp.Or(c.Spec.Region, "none") + "/" + c.Spec.Zone
	}
	return cmp.Or(c.Labels[by], "none")
}

func (f *fleet) drainOf(cluster string) string {
	goal := ""
	for _, d := range f.drains {
		if d.Spec.ClusterName == cluster && d.Status.Goal != "" {
			goal = string(d.Status.Goal)
		}
	}
	return goal
}

// viewOf sums up one member; nil: nothing was ever seen of its nodes.
func (f *fleet) viewOf(c *v1alpha1.Cluster, now time.Time) *topView {
	v := c.Status.View
	if v == nil {
		return nil
	}
	out := &topView{Version: v.Version, ConfidencePercent: v.ConfidencePercent, LargestFree: v.LargestFree}
	if v.TrueAt != nil {
		out.AgeSeconds = int64(ago(v.TrueAt.Time, now).Seconds())
	}
	reserved := corev1.ResourceList{}
	for i := range f.bindings {
		out.count(&f.bindings[i], c.Name, reserved)
	}
	out.Nodes, out.Resources = int64(v.Nodes), map[corev1.ResourceName]topAmount{}
	for name, allocatable := range v.Allocatable {
		a := topAmount{Allocatable: allocatable.DeepCopy(), Reserved: reserved[name], Allocated: v.Allocated[name], Free: allocatable.DeepCopy()}
		if a.Free.Sub(a.Allocated); a.Free.Sign() < 0 {
			a.Free = resource.Quantity{Format: a.Free.Format}
		}
		out.Resources[name] = a
	}
	return out
}

// count adds one workload's replicas in a member, and to reserved what those will take that are not ready yet.
func (s *topSum) count(b *v1alpha1.ResourceBinding, cluster string, reserved corev1.ResourceList) {
	decided, ready := int64(0), int64(0)
	for _, d := range b.Spec.Clusters {
		if d.Name == cluster {
			decided = int64(d.Replicas)
		}
	}
	for _, row := range b.Status.Clusters {
		switch {
		case row.Name != cluster:
		case row.Sight == v1alpha1.SightBlind:
			ready = int64(row.Ready)
			s.ReplicasUnknown += max(decided, ready)
		default:
			ready = int64(row.Ready)
			s.ReplicasReady += ready
		}
	}
	s.ReplicasDecided += decided
	for name, need := range b.Spec.ResourceNeed {
		need.Mul(max(decided-ready, 0))
		sum := reserved[name]
		sum.Add(need)
		reserved[name] = sum
	}
}

// groups sum up what is known now, by group.
func groups(clusters []topCluster) []topGroup {
	var out []topGroup
	for i := range clusters {
		c := &clusters[i]
		at := slices.IndexFunc(out, func(g topGroup) bool { return g.Name == c.Group })
		if at < 0 {
			out = append(out, topGroup{Name: c.Group, Clusters: []string{}, Unknown: []string{}, topSum: topSum{Resources: map[corev1.ResourceName]topAmount{}}})
			at = len(out) - 1
		}
		g := &out[at]
		if c.View == nil {
			g.Unknown = append(g.Unknown, c.Name)
			continue
		}
		g.Clusters = append(g.Clusters, c.Name)
		g.add(&c.View.topSum)
	}
	slices.SortFunc(out, func(a, b topGroup) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (s *topSum) add(more *topSum) {
	s.Nodes += more.Nodes
	s.ReplicasDecided += more.ReplicasDecided
	s.ReplicasReady += more.ReplicasReady
	s.ReplicasUnknown += more.ReplicasUnknown
	for name, m := range more.Resources {
		sum := s.Resources[name]
		sum.Allocatable.Add(m.Allocatable)
		sum.Reserved.Add(m.Reserved)
		sum.Allocated.Add(m.Allocated)
		sum.Free.Add(m.Free)
		s.Resources[name] = sum
	}
}

func topServiceOf(gs *v1alpha1.GlobalService, unknown map[string]string) topService {
	out := topService{Namespace: gs.Namespace, Name: gs.Name, Clusters: []topServiceCluster{}}
	for _, c := range gs.Status.Clusters {
		row := topServiceCluster{Name: c.Name, State: stateUnknown}
		if _, lost := unknown[c.Name]; !lost && c.Sight == v1alpha1.SightSeen {
			ready, replicas := c.Ready, c.Replicas
			row.State, row.Ready, row.Replicas, row.InFlight, row.ArrivalsMilliPerSecond = stateKnown, &ready, &replicas, c.InFlight, c.ArrivalsMilliPerSecond
		}
		out.Clusters = append(out.Clusters, row)
	}
	return out
}
