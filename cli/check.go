// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// finding is one line of check.
type finding struct {
	Severity string `json:"severity"` // Error, Warning or Info
	Subject  string `json:"subject"`
	Message  string `json:"message"`
}

func newCheck(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Report everything that stands in weir's way, and what its rules cost",
		Long: `check reports what was found before and since the first write: members that are not heard or cannot be written to, Istio
versions and cluster IDs, proxies that no istiod knows, rules of others that decide over a global service, clients that only
the fence moves, policies that are not served, and what weir's rules add to every proxy.

Exit codes: 0 nothing stops weir, 4 something does.`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := o.picture(cmd.Context())
			if err != nil {
				return err
			}
			findings := p.findings()
			if o.output == "json" {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"findings": findings})
			} else {
				err = printFindings(cmd.OutOrStdout(), findings)
			}
			if err != nil {
				return err
			}
			if n := count(findings, "Error"); n > 0 {
				return &ExitError{ExitFindings, fmt.Errorf("weir is stopped by %s", many(n, "finding"))}
			}
			return nil
		},
	}
}

func (p *picture) findings() []finding {
	var out []finding
	add := func(severity, subject, format string, args ...any) {
		out = append(out, finding{severity, subject, fmt.Sprintf(format, args...)})
	}
	if len(p.Clusters) == 0 {
		add("Error", "hub", "no cluster is registered: kubectl weir join")
	}
	for i := range p.Clusters {
		c := &p.Clusters[i]
		conditions("cluster "+c.Name, c.Status.Conditions, add)
		if c.Status.Leaving != nil {
			add("Warning", "cluster "+c.Name, "%s: kubectl weir unjoin %s waits for its end", leavingLine("on its way out,", c.Status.Leaving), c.Name)
		}
		if c.Status.Istio == nil {
			add("Warning", "cluster "+c.Name, "no istiod was found: its services are not steered")
			continue
		}
		istio := c.Status.Istio
		add("Info", "cluster "+c.Name, "Istio %s as %q, network %q; istiods: %d, proxies: %d", istio.Version, istio.ClusterID, istio.Network, len(istio.Istiods), istio.ConnectedProxies)
		for _, m := range istio.MissingProxies {
			add("Warning", "cluster "+c.Name, "proxy not connected: %s", m)
		}
		for _, f := range c.Status.Findings {
			add(string(f.Severity), "cluster "+c.Name+", "+f.Subject, "%s", withRemedy(f.Message, f.Remedy))
		}
	}
	for i := range p.Policies {
		t := &p.Policies[i]
		conditions("traffic policy "+t.Namespace+"/"+t.Name, t.Status.Conditions, func(_, subject, format string, args ...any) {
			add("Warning", subject, format, args...) // a service that names it says by itself that it is stopped
		})
	}
	p.serviceFindings(add)
	for _, u := range p.unweighted() {
		add("Warning", "client "+u.client, "only the fence moves its calls of %s", strings.Join(u.services, ", "))
	}
	return out
}

func (p *picture) serviceFindings(add func(severity, subject, format string, args ...any)) {
	var clusters, endpoints int32
	var bytes int64
	for i := range p.Services {
		gs := &p.Services[i]
		subject := "service " + gs.Namespace + "/" + gs.Name
		conditions(subject, gs.Status.Conditions, add)
		for _, f := range gs.Status.Foreign {
			add("Error", subject, "%s", f)
		}
		if h := gs.Status.SpillHeadroom; h != nil && *h < 0 {
			add("Warning", subject, "if the largest cluster empties, the others lack %s", many(-*h, "replica"))
		}
		if c := gs.Status.Cost; c != nil {
			add("Info", subject, "adds %s and %s to each proxy that sees it, about %d KB", many(c.EnvoyClusters, "Envoy cluster"), many(c.Endpoints, "endpoint"), c.Bytes/1000)
			clusters, endpoints, bytes = clusters+c.EnvoyClusters, endpoints+c.Endpoints, bytes+c.Bytes
		}
	}
	add("Info", "all services", "weir's rules add at most %s and %s to a proxy, about %d KB", many(clusters, "Envoy cluster"), many(endpoints, "endpoint"), bytes/1000)
}

// conditions reports the Ready and Healthy conditions that are not True, and a deletion that is held back.
func conditions(subject string, list []metav1.Condition, add func(severity, subject, format string, args ...any)) {
	for _, c := range list {
		if c.Type != v1alpha1.ConditionReady && c.Type != v1alpha1.ConditionHealthy {
			continue
		}
		severity := "Error"
		switch {
		case c.Reason == v1alpha1.ReasonDeletionHeld:
			severity = "Warning"
		case c.Reason == v1alpha1.ReasonLookingForRules:
			severity = "Info" // it goes on by itself in a moment
		case c.Status == metav1.ConditionTrue:
			continue
		}
		add(severity, subject, "%s is %s (%s): %s", c.Type, c.Status, c.Reason, c.Message)
	}
}

func count(findings []finding, severity string) int {
	n := 0
	for _, f := range findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

func printFindings(out io.Writer, findings []finding) error {
	var b strings.Builder
	for _, severity := range []string{"Error", "Warning", "Info"} {
		for _, f := range findings {
			if f.Severity == severity {
				fmt.Fprintf(&b, "%-8s %s: %s\n", f.Severity, f.Subject, f.Message)
			}
		}
	}
	fmt.Fprintf(&b, "%s, %s\n", many(count(findings, "Error"), "error"), many(count(findings, "Warning"), "warning"))
	_, err := io.WriteString(out, b.String())
	return err
}

// withRemedy is a message with what to do about it, as sentences or as parts of one.
func withRemedy(message, remedy string) string {
	switch {
	case remedy == "":
		return message
	case strings.HasSuffix(message, "."):
		return message + " " + remedy
	}
	return message + "; " + remedy
}
