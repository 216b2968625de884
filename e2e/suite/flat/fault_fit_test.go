// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

// big is a workload that fits nowhere whole: a node has two processors, and most of one is taken.
const (
	bigReplicas = 9
	big         = `apiVersion: federation.weir.io/v1alpha1
kind: FederatedDeployment
metadata: {name: big, namespace: demo}
spec:
  placement: {}
  template:
    spec:
      replicas: 9
      template:
        metadata: {labels: {sidecar.istio.io/inject: "false"}}
        spec:
          terminationGracePeriodSeconds: 1
          containers:
          - name: big
            image: weir.test/app:1
            imagePullPolicy: Never
            args: [serve, --ledger=/tmp, --cluster=any]
            env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
            resources: {requests: {cpu: 500m}}
            volumeMounts: [{name: tmp, mountPath: /tmp}]
          volumes: [{name: tmp, emptyDir: {}}]
`
)

func TestAnAgentThatWasKilledTellsItsViewAnewAndWhatFitsNowhereIsNamed(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c3, err := c.Fleet.Cluster("c3")
		if err != nil {
			return err
		}
		before, err := c.Weir.Member(ctx, "c3")
		if err != nil {
			return err
		}
		killed := time.Now()
		if _, err := c3.KillPods(ctx, product.Namespace, "app.kubernetes.io/instance=weir-agent"); err != nil {
			return err
		}
		err = c.Until(ctx, time.Minute, "the agent to be heard anew", func(ctx context.Context) (string, error) {
			now, err := c.Weir.Member(ctx, "c3")
			if err != nil {
				return "", err
			}
			return notHeardAnew(&before, &now), nil
		})
		if err != nil {
			return err
		}
		c.Logf("c3 was heard anew %s after its agent was killed", time.Since(killed).Round(time.Millisecond))
		c.Undo(func(ctx context.Context) error { return c.Fleet.Hub().Delete(ctx, big) })
		if err := c.Fleet.Hub().Apply(ctx, big); err != nil {
			return err
		}
		b, err := placed(ctx, c, "")
		if err != nil {
			return err
		}
		for _, cluster := range b.Spec.Clusters {
			c.Logf("%s: %d by view %d", cluster.Name, cluster.Replicas, cluster.ViewVersion)
		}
		return noneWaits(ctx, c, b)
	})
}

// notHeardAnew says what is missing until a member's agent is heard in another session, and the member is well by it.
func notHeardAnew(before, now *v1alpha1.Cluster) string {
	switch {
	case now.Status.Agent == nil || now.Status.Agent.ConnectedAt == nil || now.Status.View == nil:
		return "nothing is known of it"
	case before.Status.Agent != nil && before.Status.Agent.ConnectedAt != nil && !now.Status.Agent.ConnectedAt.After(before.Status.Agent.ConnectedAt.Time):
		return "its last session began at " + now.Status.Agent.ConnectedAt.String()
	}
	return suite.NotTrue(now.Status.Conditions, v1alpha1.ConditionHealthy)
}

// placed waits until big is decided as far as it fits, and what does not is named with reasons for every member. One
// that is shut may get none.
func placed(ctx context.Context, c *suite.Case, shut string) (v1alpha1.ResourceBinding, error) {
	var b v1alpha1.ResourceBinding
	err := c.Until(ctx, 30*time.Second, "a decision about big", func(ctx context.Context) (string, error) {
		var err error
		if b, err = c.Weir.Binding(ctx, demo.Namespace, "big"); err != nil {
			return err.Error(), nil //nolint:nilerr // It may not be there yet; the limit ends the wait.
		}
		return undecided(c, &b, shut), nil
	})
	return b, err
}

func undecided(c *suite.Case, b *v1alpha1.ResourceBinding, shut string) string {
	if len(b.Status.History) == 0 {
		return "nothing is decided"
	}
	last := b.Status.History[len(b.Status.History)-1]
	sum, has, why := last.Unplaced, map[string]int32{}, map[string]string{}
	for _, cluster := range b.Spec.Clusters {
		sum += cluster.Replicas
		has[cluster.Name] = cluster.Replicas
	}
	for _, r := range last.Reasons {
		why[r.Cluster] = r.Code
	}
	if sum != bigReplicas || last.Unplaced == 0 || last.Unplaced != b.Status.Unplaced {
		return fmt.Sprintf("%d replicas are accounted for, %d of them without a place", sum, last.Unplaced)
	}
	for _, m := range c.Fleet.Members() {
		if why[m.Name] == "" {
			return "no reason is told for " + m.Name
		}
		if (has[m.Name] == 0) != (m.Name == shut) {
			return fmt.Sprintf("%s gets %d: %s", m.Name, has[m.Name], why[m.Name])
		}
	}
	return ""
}

// noneWaits wants every replica that was decided to get a node, and no other to be there.
func noneWaits(ctx context.Context, c *suite.Case, b v1alpha1.ResourceBinding) error {
	var all []error
	for _, cluster := range b.Spec.Clusters {
		m, err := c.Fleet.Cluster(cluster.Name)
		if err != nil {
			return err
		}
		all = append(all, c.Until(ctx, 30*time.Second, "the replicas of big in "+m.Name, func(ctx context.Context) (string, error) {
			have, waiting, err := bound(ctx, m, "big")
			if err != nil || waiting == 0 && have == int(cluster.Replicas) {
				return "", err
			}
			return fmt.Sprintf("%d pods have a node, %d wait for one, want %d", have, waiting, cluster.Replicas), nil
		}))
	}
	return errors.Join(all...)
}

// bound counts the pods of a Deployment that have a node, and those that wait for one.
func bound(ctx context.Context, m *rig.Cluster, deployment string) (have, waiting int, err error) {
	client, err := m.Client()
	if err != nil {
		return 0, 0, err
	}
	d, err := client.AppsV1().Deployments(demo.Namespace).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return 0, 0, nil //nolint:nilerr // It may not be there yet; the caller counts none.
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return 0, 0, err
	}
	pods, err := client.CoreV1().Pods(demo.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return 0, 0, err
	}
	for i := range pods.Items {
		switch p := &pods.Items[i]; {
		case p.Spec.NodeName != "":
			have++
		case p.Status.Phase == corev1.PodPending:
			waiting++
		}
	}
	return have, waiting, nil
}
