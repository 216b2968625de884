// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

func TestTheHubRefusesBadObjectsWithTheFieldAndTheWayOut(t *testing.T) {
	world.Weir(t)
	client, err := world.Fleet().Hub().Dynamic()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		resource, kind, namespace, spec string
		field, wayOut                   string
	}{
		"a Cluster without TLS": {
			"clusters", "Cluster", "", "{apiEndpoint: 'http://c9.example.com', caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t}",
			"spec.apiEndpoint", "must be an https URL with a host, such as https://",
		},
		"a TrafficPolicy with weights nobody asked for": {
			"trafficpolicies", "TrafficPolicy", demo.Namespace, "{weights: {c1: 1}}",
			"spec.weights", "set mode: Static and weights, or remove weights",
		},
		"a ClusterDrain without patience": {
			"clusterdrains", "ClusterDrain", "", "{clusterName: c2, quietTimeout: 0s}",
			"spec.quietTimeout", "between 1s and 24h, such as 5m",
		},
		"a ClusterDrain with a field that is none": {
			"clusterdrains", "ClusterDrain", "", "{clusterName: c2, force: true}",
			"spec.force", "unknown field",
		},
		"a GlobalService that loses traffic": {
			"globalservices", "GlobalService", demo.Namespace, "{phase: Weights, clusters: [{name: c1, weight: 400}, {name: c2, weight: 500}]}",
			"spec.clusters", "must sum to 1000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: bad}, spec: %s}", v1alpha1.GroupVersion, c.kind, c.spec)
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatal(err)
			}
			gvr := schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: c.resource}
			options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
			_, err := client.Resource(gvr).Namespace(c.namespace).Create(t.Context(), o, options)
			if err == nil || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), c.wayOut) {
				t.Errorf("want a refusal of %s that says %q, got: %v", c.field, c.wayOut, err)
			}
		})
	}
}

func TestAnUnknownAnnotationIsToldAndTheServiceWorks(t *testing.T) {
	for name, r := range map[string]struct {
		service, annotations string
		// told is what the event in the member must say.
		told string
		// condition is what the GlobalService's condition must say; empty when there shall be none.
		condition string
	}{
		"a value of weir.io/global": {
			service: "odd", annotations: `{weir.io/global: "yes"}`, told: `weir.io/global is "yes"`,
		},
		"a key, and a policy that is not there": {
			service: "odder", annotations: `{weir.io/global: "true", weir.io/colour: blue, weir.io/traffic-policy: nosuch}`,
			told: "weir.io/colour", condition: "no TrafficPolicy of that name: make it, or correct the annotation",
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Case(t, func(ctx context.Context, c *suite.Case) error {
				c1, err := c.Fleet.Cluster("c1")
				if err != nil {
					return err
				}
				c.Undo(func(ctx context.Context) error { return withoutService(ctx, c, r.service) })
				err = c1.Apply(ctx, `apiVersion: v1
kind: Service
metadata: {name: `+r.service+`, namespace: demo, annotations: `+r.annotations+`}
spec:
  selector: {app: echo}
  ports: [{name: http, port: 8080, targetPort: http, appProtocol: http}]
`)
				if err != nil {
					return err
				}
				if err := waitEvent(ctx, c, c1, r.service, v1alpha1.ReasonBadAnnotation, r.told); err != nil {
					return err
				}
				if r.condition != "" {
					if err := waitReason(ctx, c, r.service, v1alpha1.ReasonBadAnnotation, r.condition); err != nil {
						return err
					}
				}
				if written, err := rulesOf(ctx, c1, r.service); err != nil || len(written) > 0 {
					return fmt.Errorf("rules were written for it: %v, %w", written, err)
				}
				return c.Until(ctx, 20*time.Second, "the Service to work as a plain one", func(ctx context.Context) (string, error) {
					if err := c.Call(ctx, c1, r.service); err != nil {
						return err.Error(), nil //nolint:nilerr // The sidecar may not know it yet; the limit ends the wait.
					}
					return "", nil
				})
			})
		})
	}
}

// waitEvent waits until a Service has an event with a reason that says something.
func waitEvent(ctx context.Context, c *suite.Case, m *rig.Cluster, service, reason, says string) error {
	client, err := m.Client()
	if err != nil {
		return err
	}
	return c.Until(ctx, 30*time.Second, "event "+reason+" of "+service, func(ctx context.Context) (string, error) {
		list, err := client.EventsV1().Events(demo.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			e := &list.Items[i]
			if e.Regarding.Kind == "Service" && e.Regarding.Name == service && e.Reason == reason && strings.Contains(e.Note, says) {
				return "", nil
			}
		}
		return fmt.Sprintf("none of %d events", len(list.Items)), nil
	})
}
