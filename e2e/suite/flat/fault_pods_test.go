// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
)

func TestAPodThatIsMadeInMidDrainComesUpFenced(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c2, err := c.Fleet.Cluster("c2")
		if err != nil {
			return err
		}
		begin := time.Now()
		if err := c.Weir.BeginDrain(ctx, "c2"); err != nil {
			return err
		}
		if _, err := c.WaitStep(ctx, begin, "Fence", "c2"); err != nil {
			return err
		}
		// A step is on record before it is carried out: the first pod that bears the fence shows that it was.
		err = c.Weir.FollowService(ctx, demo.Namespace, demo.Service, func(gs v1alpha1.GlobalService) (bool, error) {
			return slices.ContainsFunc(gs.Status.Clusters, func(s v1alpha1.GlobalServiceClusterStatus) bool {
				return s.Name == "c2" && s.Fenced > 0
			}), nil
		})
		if err != nil {
			return err
		}
		// The hub fences what runs, too; only what a pod was made with tells.
		if err := c.Weir.StopHub(ctx); err != nil {
			return err
		}
		c.Undo(c.Weir.StartHub)
		made, stop, err := firstSight(ctx, c2)
		if err != nil {
			return err
		}
		defer stop()
		c.Undo(func(ctx context.Context) error { return c.Session.Scale(ctx, "c2", demo.Replicas) })
		if err := c.Session.Scale(ctx, "c2", demo.Replicas+1); err != nil {
			return err
		}
		select {
		case pod := <-made:
			if pod.Labels[fence] != "true" {
				return fmt.Errorf("pod %s was made with the labels %v", pod.Name, pod.Labels)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := c.Weir.StartHub(ctx); err != nil {
			return err
		}
		return c.WaitSafe(ctx, "c2")
	})
}

// firstSight gives the next pod of the application that is made in a cluster, as it was made.
func firstSight(ctx context.Context, m *rig.Cluster) (made <-chan corev1.Pod, stop func(), err error) {
	client, err := m.Client()
	if err != nil {
		return nil, nil, err
	}
	now, err := client.CoreV1().Pods(demo.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + demo.Service})
	if err != nil {
		return nil, nil, err
	}
	w, err := client.CoreV1().Pods(demo.Namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector: "app=" + demo.Service, ResourceVersion: now.ResourceVersion,
	})
	if err != nil {
		return nil, nil, err
	}
	out := make(chan corev1.Pod, 1)
	go func() {
		for event := range w.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type == watch.Added {
				out <- *pod
				return
			}
		}
	}()
	return out, w.Stop, nil
}

func TestAClusterIsNotSafeToPowerOffWhileACallerWithoutASidecarIsLeft(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		stop, err := callWithoutSidecar(ctx, c, "c2")
		if err != nil {
			return err
		}
		if err := c.Weir.BeginDrain(ctx, "c2", "--quiet-timeout=5s"); err != nil {
			return err
		}
		if err := c.WaitShifted(ctx, "c2"); err != nil {
			return err
		}
		err = c.Until(ctx, 20*time.Second, "the caller to be told", func(ctx context.Context) (string, error) {
			d, err := c.Weir.DrainOf(ctx, "c2")
			if err != nil || len(d.Status.UnmeshedCallers) > 0 {
				return "", err
			}
			return fmt.Sprintf("%+v", d.Status.Conditions), nil
		})
		if err != nil {
			return err
		}
		err = c.Throughout(ctx, 5*time.Second, func(ctx context.Context) (string, error) {
			d, err := c.Weir.DrainOf(ctx, "c2")
			if err == nil && suite.Safe(d) {
				return "it says safe to power off", nil
			}
			return "", err
		})
		if err != nil {
			return err
		}
		stop()
		return c.WaitSafe(ctx, "c2")
	})
}

// callWithoutSidecar calls the application's Service from the node of a cluster until stop is called, which may be twice.
func callWithoutSidecar(ctx context.Context, c *suite.Case, cluster string) (stop func(), err error) {
	m, err := c.Fleet.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	client, err := m.Client()
	if err != nil {
		return nil, err
	}
	s, err := client.CoreV1().Services(demo.Namespace).Get(ctx, demo.Service, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	out, err := m.HostDir("without-sidecar")
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	cmd := m.InNamespace(life, filepath.Join(c.Fleet.RunDir, "programs", "app"), "load", "--client=without-sidecar",
		"--target=http://"+s.Spec.ClusterIP+":8080", "--rate=5", "--out="+out)
	if err := cmd.Start(); err != nil {
		end()
		return nil, fmt.Errorf("call without a sidecar: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c.Undo(func(context.Context) error { end(); return nil })
	// One that can't call ends at once.
	select {
	case err := <-ended:
		return end, errors.Join(errors.New("the caller without a sidecar ended"), err)
	case <-time.After(2 * time.Second):
		return end, nil
	}
}
