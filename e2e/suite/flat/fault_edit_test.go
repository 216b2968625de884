// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
	"github.com/weir-io/weir/mesh/istio"
)

// mallory is the field manager of one who edits weir's rules.
const mallory = "mallory"

func TestAShiftStopsAtAnEditOfItsWeightsAndNamesTheEditor(t *testing.T) {
	world.StepwiseCase(t, func(ctx context.Context, c *suite.Case) error {
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
		if err := edit(ctx, c1, allTo(0)); err != nil {
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
		if err := drop(ctx, c1); err != nil {
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
		return errors.New("no step of the fence was taken after the edit was gone")
	}
	for _, s := range fences {
		if s.Weights == nil || s.Weights.Level != v1alpha1.ProofProven {
			return fmt.Errorf("step %s rests on weights %+v", s.Kind, s.Weights)
		}
	}
	return nil
}

// edit changes the routes of weir's VirtualService for the application, as one does with kubectl edit.
func edit(ctx context.Context, c *rig.Cluster, change func(routes []any) []any) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	resource := client.Resource(virtualServices).Namespace(demo.Namespace)
	for {
		o, err := resource.Get(ctx, istio.ObjectName(demo.Service, false), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("cluster %q: find weir's VirtualService: %w", c.Name, err)
		}
		routes, _, err := unstructured.NestedSlice(o.Object, "spec", "http")
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedSlice(o.Object, change(routes), "spec", "http"); err != nil {
			return err
		}
		_, err = resource.Update(ctx, o, metav1.UpdateOptions{FieldManager: mallory})
		if !apierrors.IsConflict(err) {
			return err
		}
		// Weir wrote in between.
	}
}

// drop deletes weir's VirtualService for the application, which is the way out that weir tells: it writes it anew.
func drop(ctx context.Context, c *rig.Cluster) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	return client.Resource(virtualServices).Namespace(demo.Namespace).Delete(ctx, istio.ObjectName(demo.Service, false), metav1.DeleteOptions{})
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
