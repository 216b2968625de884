// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

var (
	virtualServices  = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "virtualservices"}
	destinationRules = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "destinationrules"}
)

// further is one more Service of the application's pods.
const further = `apiVersion: v1
kind: Service
metadata: {name: %s, namespace: demo, annotations: {weir.io/global: "true"}}
spec:
  selector: {app: echo}
  ports: [{name: http, port: 8080, targetPort: http, appProtocol: http}]
`

func TestNothingIsWrittenBesideARuleThatWasThereFirst(t *testing.T) {
	for name, r := range map[string]struct {
		rule, service string
		// says is what the condition must name.
		says string
	}{
		"a VirtualService of the user's": {
			service: "routed",
			rule: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: older, namespace: demo}
spec:
  hosts: [routed.demo.svc.cluster.local]
  http: [{timeout: 3s, route: [{destination: {host: routed.demo.svc.cluster.local}}]}]
`,
			says: "VirtualService demo/older",
		},
		"an HTTPRoute in a client's namespace": {
			service: "fresh",
			rule: `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: theirs, namespace: shop}
spec:
  parentRefs: [{group: "", kind: Service, name: fresh, namespace: demo, port: 8080}]
  rules: [{backendRefs: [{name: fresh, namespace: demo, port: 8080}]}]
`,
			says: "HTTPRoute shop/theirs",
		},
		"a DestinationRule for all hosts in the root namespace": {
			service: "covered",
			rule: `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: everything, namespace: istio-system}
spec: {host: "*.local", trafficPolicy: {connectionPool: {tcp: {maxConnections: 1000}}}}
`,
			says: "DestinationRule istio-system/everything",
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Case(t, func(ctx context.Context, c *suite.Case) error { return besideARule(ctx, c, r.rule, r.service, r.says) })
		})
	}
}

// besideARule makes a Service global where a rule stands, wants nothing written, and all of it when the rule is gone.
func besideARule(ctx context.Context, c *suite.Case, rule, service, says string) error {
	c1, err := c.Fleet.Cluster("c1")
	if err != nil {
		return err
	}
	c.Undo(func(ctx context.Context) error {
		return errors.Join(withoutService(ctx, c, service), c1.Delete(ctx, rule))
	})
	// Where the test ran a moment ago, rules of weir's stand until it has let go of them.
	if err := waitGone(ctx, c, service); err != nil {
		return err
	}
	if err := c1.Apply(ctx, rule); err != nil {
		return err
	}
	for _, m := range c.Fleet.Members() {
		if err := m.Apply(ctx, fmt.Sprintf(further, service)); err != nil {
			return err
		}
	}
	if err := waitReason(ctx, c, service, v1alpha1.ReasonForeignRule, says); err != nil {
		return err
	}
	err = c.Throughout(ctx, 3*time.Second, func(ctx context.Context) (string, error) {
		for _, m := range c.Fleet.Members() {
			if written, err := rulesOf(ctx, m, service); err != nil || len(written) > 0 {
				return fmt.Sprintf("%s has %v", m.Name, written), err
			}
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	if err := c1.Delete(ctx, rule); err != nil {
		return err
	}
	return c.Weir.WaitService(ctx, demo.Namespace, service, time.Minute)
}

// withoutService deletes a Service from all members. Weir lets go of it in its own time.
func withoutService(ctx context.Context, c *suite.Case, name string) error {
	for _, m := range c.Fleet.Members() {
		client, err := m.Client()
		if err != nil {
			return err
		}
		err = client.CoreV1().Services(demo.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("cluster %q: delete service %s: %w", m.Name, name, err)
		}
	}
	return nil
}

// rulesOf names weir's rules for a service in a member.
func rulesOf(ctx context.Context, m *rig.Cluster, service string) ([]string, error) {
	client, err := m.Dynamic()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, resource := range []schema.GroupVersionResource{virtualServices, destinationRules} {
		list, err := client.Resource(resource).Namespace(demo.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "weir.io/service=" + service})
		if err != nil {
			return nil, fmt.Errorf("cluster %q: list %s: %w", m.Name, resource.Resource, err)
		}
		for i := range list.Items {
			out = append(out, list.Items[i].GetKind()+" "+list.Items[i].GetName())
		}
	}
	return out, nil
}

// waitGone waits until the hub knows of no service of the name.
func waitGone(ctx context.Context, c *suite.Case, service string) error {
	return c.Until(ctx, time.Minute, "the end of "+service, func(ctx context.Context) (string, error) {
		_, err := c.Weir.Service(ctx, demo.Namespace, service)
		if err == nil {
			return "its GlobalService is there", nil
		}
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", err
	})
}

// waitReason waits until a service is not Ready for a reason, in words that hold what is said.
func waitReason(ctx context.Context, c *suite.Case, service, reason string, says ...string) error {
	return c.Until(ctx, time.Minute, reason+" of "+service, func(ctx context.Context) (string, error) {
		gs, err := c.Weir.Service(ctx, demo.Namespace, service)
		if apierrors.IsNotFound(err) {
			return "there is no GlobalService yet", nil
		}
		if err != nil {
			return "", err
		}
		ready := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil {
			return "it has no condition Ready", nil
		}
		for _, want := range append([]string{reason}, says...) {
			if !strings.Contains(ready.Reason+" "+ready.Message, want) {
				return fmt.Sprintf("%s, %s: %s", ready.Status, ready.Reason, ready.Message), nil
			}
		}
		return "", nil
	})
}
