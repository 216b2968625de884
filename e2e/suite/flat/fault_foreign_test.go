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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// fresh is a further Service of the application's pods.
const fresh = `apiVersion: v1
kind: Service
metadata: {name: fresh, namespace: demo, annotations: {weir.io/global: "true"}}
spec:
  selector: {app: echo}
  ports: [{name: http, port: 8080, targetPort: http, appProtocol: http}]
`

func TestNothingIsWrittenBesideARuleThatWasThereFirst(t *testing.T) {
	for name, r := range map[string]struct {
		rule string
		// says is what the condition must name.
		says string
	}{
		"a VirtualService of the user's": {
			rule: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: older, namespace: demo}
spec:
  hosts: [fresh.demo.svc.cluster.local]
  http: [{timeout: 3s, route: [{destination: {host: fresh.demo.svc.cluster.local}}]}]
`,
			says: "VirtualService demo/older",
		},
		"an HTTPRoute in a client's namespace": {
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
			rule: `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: everything, namespace: istio-system}
spec: {host: "*.local", trafficPolicy: {connectionPool: {tcp: {maxConnections: 1000}}}}
`,
			says: "DestinationRule istio-system/everything",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := world.Cluster(t, "c1").InstallGatewayAPI(t.Context()); err != nil {
				t.Fatal(err)
			}
			world.Case(t, func(ctx context.Context, c *suite.Case) error { return besideARule(ctx, c, r.rule, r.says) })
		})
	}
}

// besideARule makes a Service global where a rule stands, wants nothing written, and all of it when the rule is gone.
func besideARule(ctx context.Context, c *suite.Case, rule, says string) error {
	c1, err := c.Fleet.Cluster("c1")
	if err != nil {
		return err
	}
	c.Undo(func(ctx context.Context) error {
		return errors.Join(withoutService(ctx, c, "fresh"), c1.Delete(ctx, rule))
	})
	if err := c1.Apply(ctx, rule); err != nil {
		return err
	}
	for _, m := range c.Fleet.Members() {
		if err := m.Apply(ctx, fresh); err != nil {
			return err
		}
	}
	if err := waitReason(ctx, c, "fresh", v1alpha1.ReasonForeignRule, says); err != nil {
		return err
	}
	err = c.Throughout(ctx, 3*time.Second, func(ctx context.Context) (string, error) {
		for _, m := range c.Fleet.Members() {
			if written, err := rulesOf(ctx, m, "fresh"); err != nil || len(written) > 0 {
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
	return c.Weir.WaitService(ctx, demo.Namespace, "fresh", time.Minute)
}

// withoutService deletes a Service from all members and waits until weir has let go of it.
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
	return c.Until(ctx, 90*time.Second, "weir to let go of "+name, func(ctx context.Context) (string, error) {
		_, err := c.Weir.Service(ctx, demo.Namespace, name)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "its GlobalService is there", err
	})
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

// mallory is the field manager of one who edits weir's rules.
const mallory = "mallory"

func TestAShiftStopsAtAnEditOfItsWeightsAndNamesTheEditor(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		if _, err := c.WaitStep(ctx, begin, "Split", ""); err != nil {
			return err
		}
		c1, err := c.Fleet.Cluster("c1")
		if err != nil {
			return err
		}
		was, err := edit(ctx, c1, allTo(0))
		if err != nil {
			return err
		}
		if _, err := c.WaitBlocked(ctx, 20*time.Second, "Foreign", mallory); err != nil {
			return err
		}
		if err := waitReason(ctx, c, demo.Service, v1alpha1.ReasonForeignEdit, mallory); err != nil {
			return err
		}
		edited := time.Now()
		err = c.Throughout(ctx, 4*time.Second, func(ctx context.Context) (string, error) {
			gs, err := c.Echo(ctx)
			if steps := suite.Taken(gs, edited, "", ""); len(steps) > 0 {
				return fmt.Sprintf("steps were taken: %+v", steps), err
			}
			return "", err
		})
		if err != nil {
			return err
		}
		if _, err := edit(ctx, c1, func([]any) []any { return was }); err != nil {
			return err
		}
		if err := c.WaitSafe(ctx, "c2"); err != nil {
			return err
		}
		return provenAnew(ctx, c, edited)
	})
}

// provenAnew wants the steps since a time to rest on weights that were proven.
func provenAnew(ctx context.Context, c *suite.Case, since time.Time) error {
	gs, err := c.Echo(ctx)
	if err != nil {
		return err
	}
	fences := suite.Taken(gs, since, "Fence", "c2")
	if len(fences) == 0 {
		return errors.New("no step of the fence was taken after the edit was put back")
	}
	for _, s := range fences {
		if s.Weights == nil || s.Weights.Level != v1alpha1.ProofProven {
			return fmt.Errorf("step %s rests on weights %+v", s.Kind, s.Weights)
		}
	}
	return nil
}

// edit changes the routes of weir's VirtualService for the application, as one does with kubectl edit, and returns what they
// were.
func edit(ctx context.Context, c *rig.Cluster, change func(routes []any) []any) ([]any, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	resource := client.Resource(virtualServices).Namespace(demo.Namespace)
	for {
		list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: "weir.io/service=" + demo.Service})
		if err != nil || len(list.Items) != 1 {
			return nil, fmt.Errorf("cluster %q: find weir's VirtualService: %d, %w", c.Name, len(list.Items), err)
		}
		o := &list.Items[0]
		was, _, err := unstructured.NestedSlice(o.Object, "spec", "http")
		if err != nil {
			return nil, err
		}
		now, _, err := unstructured.NestedSlice(o.Object, "spec", "http")
		if err != nil {
			return nil, err
		}
		if err := unstructured.SetNestedSlice(o.Object, change(now), "spec", "http"); err != nil {
			return nil, err
		}
		_, err = resource.Update(ctx, o, metav1.UpdateOptions{FieldManager: mallory})
		if apierrors.IsConflict(err) {
			continue // Weir wrote in between.
		}
		return was, err
	}
}

// allTo gives everything to one destination.
func allTo(index int) func(routes []any) []any {
	return func(routes []any) []any {
		for _, r := range routes {
			route, _ := r.(map[string]any)
			destinations, _ := route["route"].([]any)
			for i, d := range destinations {
				if destination, ok := d.(map[string]any); ok {
					destination["weight"] = int64(0)
					if i == index {
						destination["weight"] = int64(100)
					}
				}
			}
		}
		return routes
	}
}
