// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/binding"
	"github.com/weir-io/weir/controllers/schedule"
)

// Sizes of the measurement of bindings.
const (
	members   = 20
	workloads = 1000
	// Each workload has a replica in every member, so that each must move when one is drained.
	replicasEach = members

	namespace = "bench"
	creators  = 8
)

// roundLimit is how long a round may take before the measurement gives up.
const roundLimit = 5 * time.Minute

// Bindings has the hub divide a thousand workloads over twenty members, and then take one member out of service, on the API
// server of a fleet's hub, and prints what both cost. Repo is the root of weir's source, for the definitions.
func Bindings(ctx context.Context, hub API, repo string, out io.Writer) error {
	known, err := newViews(members)
	if err != nil {
		return err
	}
	h, err := start(ctx, hub, repo, known)
	if err != nil {
		return err
	}
	err = h.bindings(ctx, out)
	return errors.Join(err, h.stop())
}

func (h *running) bindings(ctx context.Context, out io.Writer) error {
	if err := register(ctx, h.client, members); err != nil {
		return err
	}
	if err := h.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("make namespace %s: %w", namespace, err)
	}
	fmt.Fprintf(out, "%d members with %d nodes each; %d workloads of %d replicas\n", members, nodesEach, workloads, replicasEach)
	begin := time.Now()
	h.requests.reset()
	if err := deploy(ctx, h.client); err != nil {
		return err
	}
	created := time.Since(begin)
	all, err := h.await(ctx, func(b *v1alpha1.ResourceBinding) bool { return placedIn(b) == members })
	if err != nil {
		return err
	}
	report(out, "made, divided and written", time.Since(begin), all, h.requests.take())
	fmt.Fprintf(out, "  of that, making the workloads took %s\n", created.Round(time.Millisecond))

	drained := memberName(0)
	begin = time.Now()
	if err := drain(ctx, h.client, drained); err != nil {
		return err
	}
	all, err = h.await(ctx, func(b *v1alpha1.ResourceBinding) bool {
		return !slices.ContainsFunc(b.Spec.Clusters, func(c v1alpha1.BindingCluster) bool { return c.Name == drained })
	})
	if err != nil {
		return err
	}
	report(out, "one member out of service: decided anew and written", time.Since(begin), all, h.requests.take())
	return nil
}

// setup gives a hub's manager what divides workloads.
func (h *running) setup(known views) error {
	for _, c := range []controller{
		&binding.Reconciler{Client: h.manager.GetClient()},
		&schedule.Reconciler{
			Client: h.manager.GetClient(), Views: known, Recorder: h.manager.GetEventRecorder(schedule.FieldManager), Now: time.Now,
		},
	} {
		if err := c.SetupWithManager(h.manager); err != nil {
			return fmt.Errorf("start a controller: %w", err)
		}
	}
	return nil
}

// deploy makes the workloads.
func deploy(ctx context.Context, c client.Client) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(creators)
	for i := range workloads {
		g.Go(func() error {
			d, err := workload(i)
			if err != nil {
				return err
			}
			return c.Create(ctx, d)
		})
	}
	return g.Wait()
}

// workload is the i-th one.
func workload(i int) (*v1alpha1.FederatedDeployment, error) {
	n := int32(replicasEach)
	d := &v1alpha1.FederatedDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("w%04d", i)}}
	spec := appsv1.DeploymentSpec{Replicas: &n, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "app", Image: "example.test/app:1",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
		}},
	}}}}}
	return d, d.Spec.Template.Spec.SetDeploymentSpec(&spec)
}

// drain takes a member out of service, as far as the scheduler looks at it.
func drain(ctx context.Context, c client.Client, cluster string) error {
	d := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: cluster}}
	if err := c.Create(ctx, d); err != nil {
		return fmt.Errorf("drain %s: %w", cluster, err)
	}
	d.Status.Goal = v1alpha1.GoalDrain
	if err := c.Status().Update(ctx, d); err != nil {
		return fmt.Errorf("drain %s: %w", cluster, err)
	}
	return nil
}

// placedIn is in how many members a workload has all the replicas that it wants.
func placedIn(b *v1alpha1.ResourceBinding) int {
	var sum int32
	for _, c := range b.Spec.Clusters {
		sum += c.Replicas
	}
	if sum != b.Spec.Replicas || len(b.Status.History) == 0 || len(b.Spec.Plan) == 0 {
		return 0
	}
	return len(b.Spec.Clusters)
}

// await waits until as many bindings as there are workloads are as wanted, and returns when each was decided last.
func (h *running) await(ctx context.Context, so func(*v1alpha1.ResourceBinding) bool) ([]time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var list v1alpha1.ResourceBindingList
		if err := h.manager.GetClient().List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list bindings: %w", err)
		}
		var decided []time.Time
		for i := range list.Items {
			if b := &list.Items[i]; so(b) && len(b.Status.History) > 0 {
				decided = append(decided, b.Status.History[len(b.Status.History)-1].Time.Time)
			}
		}
		if len(decided) == workloads {
			return decided, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d bindings are as wanted: %w", len(decided), workloads, ctx.Err())
		case <-tick.C:
		}
	}
}

// report prints one round.
func report(out io.Writer, what string, took time.Duration, decided []time.Time, requests map[string]int) {
	fmt.Fprintf(out, "%s: %d bindings in %s, %.0f a second\n", what, len(decided), took.Round(time.Millisecond), float64(len(decided))/took.Seconds())
	var writes int
	for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		writes += requests[verb]
	}
	fmt.Fprintf(out, "  %.1f writes and %.1f reads for each binding\n", float64(writes)/float64(len(decided)), float64(requests["GET"])/float64(len(decided)))
}
