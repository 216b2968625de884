// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// hubName is the name of the hub's Deployment, and of its pods' label.
const hubName = "weir-hub"

const (
	hubSelector = "app.kubernetes.io/name=" + hubName
	hubLimit    = 2 * time.Minute
)

// KillHub kills the hub's program with SIGKILL and has its pod made anew, so
// that no back-off of the kubelet stands between two kills. It does not wait
// for the new one.
func (p *Product) KillHub(ctx context.Context) error {
	hub := p.fleet.Hub()
	killed, err := hub.KillPods(ctx, Namespace, hubSelector)
	if err != nil {
		return err
	}
	client, err := hub.Client()
	if err != nil {
		return err
	}
	now := int64(0)
	for _, pod := range killed.Pods {
		err := client.CoreV1().Pods(Namespace).Delete(ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: &now})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete pod %s: %w", pod, err)
		}
	}
	return nil
}

// StopHub scales the hub away and returns when it is gone.
func (p *Product) StopHub(ctx context.Context) error { return p.scaleHub(ctx, 0) }

// StartHub scales the hub back and returns when it is ready.
func (p *Product) StartHub(ctx context.Context) error { return p.scaleHub(ctx, 1) }

// WaitHub waits until exactly one hub runs and is ready.
func (p *Product) WaitHub(ctx context.Context) error {
	return p.fleet.Hub().WaitPodsReady(ctx, Namespace, hubSelector, 1, hubLimit)
}

func (p *Product) scaleHub(ctx context.Context, n int) error {
	hub := p.fleet.Hub()
	client, err := hub.Client()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
	if _, err := client.AppsV1().Deployments(Namespace).Patch(ctx, hubName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("scale the hub to %d: %w", n, err)
	}
	return hub.WaitPodsReady(ctx, Namespace, hubSelector, n, hubLimit)
}
