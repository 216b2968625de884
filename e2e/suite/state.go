// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
)

// Echo reads the application's GlobalService.
func (c *Case) Echo(ctx context.Context) (v1alpha1.GlobalService, error) {
	return c.Weir.Service(ctx, demo.Namespace, demo.Service)
}

// Web reads the GlobalService of the workload that weir divides.
func (c *Case) Web(ctx context.Context) (v1alpha1.GlobalService, error) {
	return c.Weir.Service(ctx, demo.Namespace, demo.Web)
}

// In gives a service's line of one cluster; zeros when it has none.
func In(gs v1alpha1.GlobalService, cluster string) v1alpha1.GlobalServiceClusterStatus {
	for _, c := range gs.Status.Clusters {
		if c.Name == cluster {
			return c
		}
	}
	return v1alpha1.GlobalServiceClusterStatus{}
}

// Plan gives the plan of a service for one cluster; zeros when it has none.
func Plan(gs v1alpha1.GlobalService, cluster string) v1alpha1.GlobalServiceCluster {
	for _, c := range gs.Spec.Clusters {
		if c.Name == cluster {
			return c
		}
	}
	return v1alpha1.GlobalServiceCluster{}
}

// BlockedBy gives what a shift waits for with the code, if its message, subject or cluster holds the name.
func BlockedBy(gs v1alpha1.GlobalService, code, name string) (v1alpha1.Blocker, bool) {
	for _, b := range gs.Status.Shift.Blocked {
		if b.Code == code && (strings.Contains(b.Subject, name) || strings.Contains(b.Message, name) || b.Cluster == name) {
			return b, true
		}
	}
	return v1alpha1.Blocker{}, false
}

// Taken gives the steps of a kind that were taken for a cluster since a time, oldest first. An empty kind or cluster is any.
func Taken(gs v1alpha1.GlobalService, since time.Time, kind, cluster string) []v1alpha1.StepRecord {
	var out []v1alpha1.StepRecord
	for _, s := range gs.Status.Steps {
		if !s.StartedAt.Time.Before(since) && (kind == "" || s.Kind == kind) && (cluster == "" || s.Cluster == cluster) {
			out = append(out, s)
		}
	}
	return out
}

// Safe says whether a drained cluster may be powered off.
func Safe(d v1alpha1.ClusterDrain) bool {
	return d.Status.SafeToPowerOff != nil && *d.Status.SafeToPowerOff
}

// WaitSafe waits until a drained cluster may be powered off.
func (c *Case) WaitSafe(ctx context.Context, cluster string) error {
	return c.Until(ctx, shiftLimit, cluster+" to be safe to power off", func(ctx context.Context) (string, error) {
		d, err := c.Weir.DrainOf(ctx, cluster)
		if err != nil || Safe(d) {
			return "", err
		}
		return because(d.Status.Conditions, v1alpha1.ConditionDrained), nil
	})
}

// WaitShifted waits until no service sends traffic to a drained cluster. Its own gateways may still be called.
func (c *Case) WaitShifted(ctx context.Context, cluster string) error {
	return c.Until(ctx, shiftLimit, "the traffic of "+cluster+" to be gone", func(ctx context.Context) (string, error) {
		d, err := c.Weir.DrainOf(ctx, cluster)
		if err != nil || meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionTrafficShifted) {
			return "", err
		}
		return because(d.Status.Conditions, v1alpha1.ConditionDrained), nil
	})
}

// WaitStep waits until a step of a kind was taken for a cluster since a time, and returns the service as it was then.
func (c *Case) WaitStep(ctx context.Context, since time.Time, kind, cluster string) (v1alpha1.GlobalService, error) {
	var gs v1alpha1.GlobalService
	err := c.Until(ctx, shiftLimit, "step "+kind, func(ctx context.Context) (string, error) {
		var err error
		if gs, err = c.Echo(ctx); err != nil || len(Taken(gs, since, kind, cluster)) > 0 {
			return "", err
		}
		return waits(gs), nil
	})
	return gs, err
}

// WaitBlocked waits until the shift waits with the code and names what holds it up.
func (c *Case) WaitBlocked(ctx context.Context, limit time.Duration, code, name string) (v1alpha1.Blocker, error) {
	var found v1alpha1.Blocker
	err := c.Until(ctx, limit, fmt.Sprintf("%s that names %s", code, name), func(ctx context.Context) (string, error) {
		gs, err := c.Echo(ctx)
		if err != nil {
			return "", err
		}
		var ok bool
		if found, ok = BlockedBy(gs, code, name); ok {
			return "", nil
		}
		return waits(gs), nil
	})
	return found, err
}

// WaitAtRest waits until the application's traffic is split evenly, proven, with no fence and no move under way.
func (c *Case) WaitAtRest(ctx context.Context) error {
	return c.Until(ctx, shiftLimit, "the old split", func(ctx context.Context) (string, error) {
		gs, err := c.Echo(ctx)
		if err != nil {
			return "", err
		}
		return unrest(gs), nil
	})
}

// unrest says what is missing to the old split.
func unrest(gs v1alpha1.GlobalService) string {
	if what := product.Held(gs); what != "" {
		return what
	}
	if gs.Spec.Record != nil || gs.Status.ObservedGeneration != gs.Generation {
		return waits(gs)
	}
	for _, s := range gs.Status.Clusters {
		even := int32(1000 / len(gs.Status.Clusters))
		if w := s.Weight; w.Written < even || w.Written > even+1 || w.ProvenLow != w.Written || w.ProvenHigh != w.Written {
			return fmt.Sprintf("%s has weight %+v", s.Name, w)
		}
		if s.Fenced > 0 || Plan(gs, s.Name).NewPods == v1alpha1.PodsFenced {
			return s.Name + " is fenced"
		}
	}
	return ""
}

// waits says in short where a shift is and what it waits for.
func waits(gs v1alpha1.GlobalService) string {
	out := []string{"step " + gs.Status.Shift.Step + " " + gs.Status.Shift.Cluster}
	for _, b := range gs.Status.Shift.Blocked {
		out = append(out, b.Code+": "+b.Message)
	}
	return strings.Join(out, "; ")
}

// because gives the reason and message of a condition.
func because(conditions []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return "it has no condition " + kind
	}
	return c.Reason + ": " + c.Message
}

// NotTrue gives the reason and message of a condition that is not true; empty when it is.
func NotTrue(conditions []metav1.Condition, kind string) string {
	if meta.IsStatusConditionTrue(conditions, kind) {
		return ""
	}
	return because(conditions, kind)
}

// picture is all that weir says, and the end of the hub's log, for one who looks for what went wrong.
func (c *Case) picture(ctx context.Context) string {
	var b strings.Builder
	text, err := c.Weir.Status(ctx)
	fmt.Fprintf(&b, "kubectl weir status (%v):\n%s\n", err, text)
	if gs, err := c.Echo(ctx); err == nil {
		gs.ManagedFields = nil
		text, _ := yaml.Marshal(gs)
		fmt.Fprintf(&b, "%s\n", text)
	}
	if c.Session.Federated() {
		b.WriteString(c.division(ctx))
	}
	log, err := c.hubLog(ctx)
	fmt.Fprintf(&b, "the hub's log (%v):\n%s", err, log)
	return b.String()
}

// division is what weir says of the workload that it divides.
func (c *Case) division(ctx context.Context) string {
	var b strings.Builder
	if gs, err := c.Web(ctx); err == nil {
		gs.ManagedFields = nil
		text, _ := yaml.Marshal(gs)
		fmt.Fprintf(&b, "%s\n", text)
	}
	if binding, err := c.Weir.Binding(ctx, demo.Namespace, demo.Web); err == nil {
		binding.ManagedFields = nil
		text, _ := yaml.Marshal(binding)
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}

func (c *Case) hubLog(ctx context.Context) (string, error) {
	client, err := c.Fleet.Hub().Client()
	if err != nil {
		return "", err
	}
	pods, err := client.CoreV1().Pods(product.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		return "", err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	lines := int64(60)
	text, err := client.CoreV1().Pods(product.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
	return string(text), err
}
