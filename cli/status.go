// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// picture is everything that status and check look at.
type picture struct {
	Clusters []v1alpha1.Cluster       `json:"clusters"`
	Services []v1alpha1.GlobalService `json:"services"`
	Drains   []v1alpha1.ClusterDrain  `json:"drains"`
	Policies []v1alpha1.TrafficPolicy `json:"-"`
}

func (o *options) picture(ctx context.Context) (*picture, error) {
	h, err := o.hub()
	if err != nil {
		return nil, err
	}
	var clusters v1alpha1.ClusterList
	if err := h.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("list clusters (is weir installed on this cluster?): %w", err)
	}
	var services v1alpha1.GlobalServiceList
	if err := h.List(ctx, &services); err != nil {
		return nil, fmt.Errorf("list global services: %w", err)
	}
	var drains v1alpha1.ClusterDrainList
	if err := h.List(ctx, &drains); err != nil {
		return nil, fmt.Errorf("list cluster drains: %w", err)
	}
	var policies v1alpha1.TrafficPolicyList
	if err := h.List(ctx, &policies); err != nil {
		return nil, fmt.Errorf("list traffic policies: %w", err)
	}
	p := &picture{clusters.Items, services.Items, drains.Items, policies.Items}
	p.forgetWriters()
	return p, nil
}

// forgetWriters drops who wrote which field: it is longer than everything else together.
func (p *picture) forgetWriters() {
	for i := range p.Clusters {
		p.Clusters[i].ManagedFields = nil
	}
	for i := range p.Services {
		p.Services[i].ManagedFields = nil
	}
	for i := range p.Drains {
		p.Drains[i].ManagedFields = nil
	}
}

func newStatus(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAMESPACE/SERVICE]",
		Short: "Where is my traffic, why, and what is weir waiting for",
		Long: `status shows on one screen, for each global service: where its traffic is (weight wanted, written, and the interval that
any proxy may still use; ready and fenced pods; arrivals), why (the drain or policy behind it), and what weir waits for.`,
		Example: "  kubectl weir status\n  kubectl weir status demo/echo",
		Args:    atMostOne("one service"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if _, err := namespaced("status", args[0]); err != nil {
					return err
				}
			}
			p, err := o.picture(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if err := p.only(args[0]); err != nil {
					return err
				}
			}
			if o.output == "json" {
				return printJSON(cmd.OutOrStdout(), p)
			}
			return p.print(cmd.OutOrStdout(), time.Now())
		},
	}
}

func (p *picture) only(name string) error {
	p.Services = slices.DeleteFunc(p.Services, func(s v1alpha1.GlobalService) bool { return s.Namespace+"/"+s.Name != name })
	if len(p.Services) == 0 {
		return fmt.Errorf("there is no global service %q: annotate its Service in a member with %s: \"true\", and name it NAMESPACE/SERVICE here", name, v1alpha1.AnnotationGlobal)
	}
	return nil
}

func (p *picture) print(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 2, 2, 2, ' ', 0)
	row := func(cells ...any) {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = fmt.Sprint(c)
		}
		_, _ = fmt.Fprintln(w, strings.Join(texts, "\t"))
	}
	row("CLUSTER", "READY", "HEALTHY", "ISTIO", "PROXIES", "DRAIN", "SAFE TO POWER OFF")
	for _, c := range p.Clusters {
		istio, proxies := "none", "-"
		if i := c.Status.Istio; i != nil {
			istio, proxies = i.Version, strconv.Itoa(int(i.ConnectedProxies))
			if i.MissingProxyCount > 0 {
				proxies += fmt.Sprintf(" (%d missing)", i.MissingProxyCount)
			}
		}
		drain, safe := p.drainOf(c.Name)
		row(c.Name, condition(c.Status.Conditions, v1alpha1.ConditionReady), condition(c.Status.Conditions, v1alpha1.ConditionHealthy), istio, proxies, drain, safe)
	}
	for i := range p.Services {
		gs := &p.Services[i]
		row()
		row("SERVICE "+gs.Namespace+"/"+gs.Name, "READY", "WANTED", "WRITTEN", "IN USE", "FENCED", "ARRIVALS/S", "SIGHT")
		for _, c := range gs.Status.Clusters {
			row("  "+c.Name, fmt.Sprintf("%d/%d", c.Ready, c.Replicas), percent(c.Weight.Wanted), percent(c.Weight.Written), interval(c.Weight), c.Fenced, arrivals(c), c.Sight)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range p.Services {
		p.printWhy(out, &p.Services[i], now)
	}
	p.printUnweighted(out)
	return nil
}

// unweightedClient is a client that weights do not reach, with the services that it calls.
type unweightedClient struct {
	client   string
	services []string
}

// unweighted are the clients that weights do not reach, each once: a gateway that takes no route of weir's takes none for any
// service.
func (p *picture) unweighted() []unweightedClient {
	of := map[string][]string{}
	for i := range p.Services {
		for _, client := range p.Services[i].Status.Weights.Unweighted {
			of[client] = append(of[client], p.Services[i].Namespace+"/"+p.Services[i].Name)
		}
	}
	out := make([]unweightedClient, 0, len(of))
	for _, client := range slices.Sorted(maps.Keys(of)) {
		out = append(out, unweightedClient{client, slices.Compact(of[client])})
	}
	return out
}

func (p *picture) printUnweighted(out io.Writer) {
	clients := p.unweighted()
	if len(clients) == 0 {
		return
	}
	_, _ = fmt.Fprintln(out, "\nmoved by the fence alone")
	for _, c := range clients {
		_, _ = fmt.Fprintf(out, "  %s (%s)\n", c.client, strings.Join(c.services, ", "))
	}
}

// printWhy says why traffic is where it is, and what is waited for.
func (p *picture) printWhy(out io.Writer, gs *v1alpha1.GlobalService, now time.Time) {
	s := gs.Status
	_, _ = fmt.Fprintf(out, "\n%s/%s\n", gs.Namespace, gs.Name)
	fence := "none"
	if gs.Spec.FenceGeneration > 0 {
		fence = proof(s.Fence, now)
	}
	_, _ = fmt.Fprintf(out, "  why:     %s; weights %s, fence %s\n", p.why(gs, now), proof(s.Weights, now), fence)
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); c != nil && (c.Status != metav1.ConditionTrue || c.Reason == v1alpha1.ReasonDeletionHeld) {
		_, _ = fmt.Fprintf(out, "  ready:   %s (%s) %s\n", c.Status, c.Reason, c.Message)
	}
	for _, b := range s.Shift.Blocked {
		_, _ = fmt.Fprintf(out, "  waiting: %s [%s]\n", b.Message, b.Code)
	}
	if len(s.Shift.Blocked) == 0 {
		_, _ = fmt.Fprintf(out, "  waiting: %s\n", goesOn(s.Shift.Step))
	}
	for _, n := range s.Shift.Notices {
		_, _ = fmt.Fprintf(out, "  note:    %s [%s]\n", n.Message, n.Code)
	}
	for _, m := range s.Weights.Missing {
		_, _ = fmt.Fprintf(out, "  missing: %s\n", m)
	}
	if s.SpillHeadroom != nil && *s.SpillHeadroom < 0 {
		_, _ = fmt.Fprintf(out, "  headroom: if the largest cluster empties, the others lack %s\n", many(-*s.SpillHeadroom, "replica"))
	}
}

// why names what moves a service's traffic.
func (p *picture) why(gs *v1alpha1.GlobalService, now time.Time) string {
	reasons := []string{"traffic follows replicas"}
	if r := gs.Spec.Record; r != nil {
		reasons = []string{fmt.Sprintf("a move began %s ago", now.Sub(r.Since.Time).Round(time.Second))}
	}
	for _, d := range p.Drains {
		here := func(c v1alpha1.GlobalServiceClusterStatus) bool { return c.Name == d.Spec.ClusterName }
		if d.Status.Goal != "" && slices.ContainsFunc(gs.Status.Clusters, here) {
			reasons = append(reasons, fmt.Sprintf("%s of %s", d.Status.Goal, d.Spec.ClusterName))
		}
	}
	return strings.Join(reasons, ", ")
}

func (p *picture) drainOf(cluster string) (drain, safe string) {
	for _, d := range p.Drains {
		if d.Spec.ClusterName != cluster {
			continue
		}
		drain, safe = "waiting", "no"
		switch {
		case d.Status.Goal != "":
			drain = string(d.Status.Goal) + " " + d.Status.Progress
		case d.Spec.Desired == v1alpha1.InService:
			drain = "-"
		}
		if d.Status.SafeToPowerOff != nil && *d.Status.SafeToPowerOff {
			safe = "yes"
		}
		return drain, safe
	}
	return "-", "no"
}

func condition(list []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(list, kind)
	if c == nil {
		return "Unknown"
	}
	if c.Status == metav1.ConditionTrue {
		return "True"
	}
	return string(c.Status) + " (" + c.Reason + ")"
}

func percent(permille int32) string {
	if permille < 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%d%%", permille/10, permille%10)
}

func interval(w v1alpha1.WeightStatus) string {
	if w.ProvenLow == w.ProvenHigh {
		return percent(w.ProvenLow)
	}
	return percent(w.ProvenLow) + "…" + percent(w.ProvenHigh)
}

func arrivals(c v1alpha1.GlobalServiceClusterStatus) string {
	if c.ArrivalsMilliPerSecond == nil {
		return "not measured"
	}
	return fmt.Sprintf("%.1f", float64(*c.ArrivalsMilliPerSecond)/1000)
}

func proof(p v1alpha1.ProofStatus, now time.Time) string {
	if p.SeenAt == nil || p.Level == v1alpha1.ProofNone || p.Level == "" {
		return "not proven"
	}
	return fmt.Sprintf("%s %s ago", p.Level, now.Sub(p.SeenAt.Time).Round(time.Second))
}
