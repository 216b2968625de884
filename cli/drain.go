// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// drainFlags are what a user accepts of a drain.
type drainFlags struct {
	proxyTimeout time.Duration
	quietTimeout time.Duration
	acceptLoss   bool
	force        bool
	wait         bool
	timeout      time.Duration
	setProxy     bool
	setQuiet     bool
}

func newDrain(o *options) *cobra.Command {
	var f drainFlags
	cmd := &cobra.Command{
		Use:   "drain CLUSTER",
		Short: "Take a cluster out of service without losing a request",
		Long: `drain moves every global service's traffic away from a cluster, proves that no proxy sends any there, and says when
the cluster may be switched off.

It makes a ClusterDrain and waits for it. Interrupting the wait leaves the drain at work; kubectl weir undrain turns it
round at any time. Exit codes: 0 safe to power off, 1 refused or failed, 3 the time given by --timeout passed.`,
		Example: "  kubectl weir drain c2\n  kubectl weir drain c2 --proxy-timeout 2m",
		Args:    exactly(1, "one cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notNegative(cmd, "proxy-timeout", "quiet-timeout", "timeout"); err != nil {
				return err
			}
			f.setProxy, f.setQuiet = cmd.Flags().Changed("proxy-timeout"), cmd.Flags().Changed("quiet-timeout")
			return runDrain(cmd.Context(), o, f, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.DurationVar(&f.proxyTimeout, "proxy-timeout", 0, "go on without the proof of a proxy that has not answered for this long; 0: wait for ever")
	fl.DurationVar(&f.quietTimeout, "quiet-timeout", 5*time.Minute, "go on when fenced pods have not fallen quiet for this long")
	fl.BoolVar(&f.acceptLoss, "accept-headroom-loss", false, "go on although the clusters that stay can bear less than before")
	fl.BoolVar(&f.force, "force", false, "drain the other services where some have their last ready copies here; those stay")
	fl.BoolVar(&f.wait, "wait", true, "wait until it is safe to power off")
	fl.DurationVar(&f.timeout, "timeout", 0, "how long to wait; 0: for ever")
	return cmd
}

func runDrain(ctx context.Context, o *options, f drainFlags, cluster string, out, progress io.Writer) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if _, err := h.clusterNamed(ctx, cluster); err != nil {
		return err
	}
	d, err := h.askDrain(ctx, cluster, f, progress)
	if err != nil {
		return err
	}
	if !f.wait {
		return o.printDrain(out, d)
	}
	d, err = h.follow(ctx, d, f.timeout, &teller{out: progress}, func(d *v1alpha1.ClusterDrain) (bool, error) {
		if d.Spec.Desired == v1alpha1.InService || !d.DeletionTimestamp.IsZero() {
			return true, fmt.Errorf("cluster %q is being given back: somebody turned ClusterDrain %q round while it was waited for", cluster, d.Name)
		}
		if d.Status.ObservedGeneration != d.Generation {
			return false, nil
		}
		if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status == metav1.ConditionFalse {
			return true, fmt.Errorf("%s; the wish stands, and begins when it may: kubectl weir undrain %s takes it back", c.Message, cluster)
		}
		return d.Status.Goal == v1alpha1.GoalDrain && d.Status.SafeToPowerOff != nil && *d.Status.SafeToPowerOff, nil
	})
	if d != nil {
		if perr := o.printDrain(out, d); perr != nil {
			return perr
		}
	}
	return err
}

// askDrain makes the ClusterDrain, or turns the one that is there, whatever its name. One that is at rest begins anew, without
// what was accepted for an earlier drain; of one at work what was accepted stands, and is told.
func (h *hub) askDrain(ctx context.Context, cluster string, f drainFlags, progress io.Writer) (*v1alpha1.ClusterDrain, error) {
	d, err := h.drainOf(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if d != nil && !d.DeletionTimestamp.IsZero() {
		return nil, fmt.Errorf("cluster %q is being given back (ClusterDrain %q is going): wait until it is gone, then drain again", cluster, d.Name)
	}
	fresh := d == nil
	if fresh {
		d = &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: cluster}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: cluster}}
	}
	before := d.DeepCopy()
	if d.Spec.Desired == v1alpha1.InService && d.Status.Goal == "" {
		d.Spec = v1alpha1.ClusterDrainSpec{ClusterName: cluster}
	}
	if kept := f.kept(d.Spec); len(kept) > 0 {
		if _, err := fmt.Fprintf(progress, "ClusterDrain %q is there already and keeps %s\n", d.Name, strings.Join(kept, ", ")); err != nil {
			return nil, fmt.Errorf("write: %w", err)
		}
	}
	d.Spec.Desired = v1alpha1.OutOfService
	f.into(&d.Spec)
	if fresh {
		err = h.Create(ctx, d)
	} else {
		err = h.Patch(ctx, d, client.MergeFrom(before))
	}
	if err != nil {
		return nil, fmt.Errorf("ask to drain cluster %q: %w", cluster, err)
	}
	return d, nil
}

// into writes down what the user accepts now.
func (f drainFlags) into(spec *v1alpha1.ClusterDrainSpec) {
	if f.setProxy {
		spec.ProxyTimeout = &metav1.Duration{Duration: f.proxyTimeout}
	}
	if f.setQuiet {
		spec.QuietTimeout = &metav1.Duration{Duration: f.quietTimeout}
	}
	if f.acceptLoss {
		spec.HeadroomLoss = v1alpha1.HeadroomAccept
	}
	if f.force {
		spec.LastCopy = v1alpha1.LastCopySkip
	}
}

// kept names what was accepted before, and is not said anew.
func (f drainFlags) kept(spec v1alpha1.ClusterDrainSpec) []string {
	var out []string
	if !f.setProxy && spec.ProxyTimeout != nil && spec.ProxyTimeout.Duration > 0 {
		out = append(out, "proxyTimeout "+spec.ProxyTimeout.Duration.String())
	}
	if !f.setQuiet && spec.QuietTimeout != nil && spec.QuietTimeout.Duration != f.quietTimeout {
		out = append(out, "quietTimeout "+spec.QuietTimeout.Duration.String())
	}
	if !f.acceptLoss && spec.HeadroomLoss == v1alpha1.HeadroomAccept {
		out = append(out, "headroomLoss Accept")
	}
	if !f.force && spec.LastCopy == v1alpha1.LastCopySkip {
		out = append(out, "lastCopy Skip")
	}
	return out
}

// clusterNamed reads a Cluster, or says that there is none of the name.
func (h *hub) clusterNamed(ctx context.Context, cluster string) (*v1alpha1.Cluster, error) {
	var c v1alpha1.Cluster
	err := h.Get(ctx, types.NamespacedName{Name: cluster}, &c)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no cluster %q on this hub: kubectl get clusters.federation.weir.io lists them", cluster)
	}
	if err != nil {
		return nil, fmt.Errorf("read cluster %q: %w", cluster, err)
	}
	return &c, nil
}

// drainOf returns the ClusterDrain of a cluster; nil when there is none. Of several the oldest is in force.
func (h *hub) drainOf(ctx context.Context, cluster string) (*v1alpha1.ClusterDrain, error) {
	var list v1alpha1.ClusterDrainList
	if err := h.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list cluster drains: %w", err)
	}
	var found *v1alpha1.ClusterDrain
	for i := range list.Items {
		d := &list.Items[i]
		if d.Spec.ClusterName == cluster && (found == nil || d.CreationTimestamp.Before(&found.CreationTimestamp)) {
			found = d
		}
	}
	return found, nil
}

func newUndrain(o *options) *cobra.Command {
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "undrain CLUSTER",
		Short: "Give a drained cluster back, or abort a drain half way",
		Long: `undrain brings a cluster's traffic back in the reverse order: its pods leave the fence, that is proven, and its weight
rises as far as its ready replicas carry. In the middle of a drain it aborts it. When traffic is back the ClusterDrain is
deleted. Exit codes: 0 in service, 1 failed, 3 the time given by --timeout passed.`,
		Example: "  kubectl weir undrain c2",
		Args:    exactly(1, "one cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notNegative(cmd, "timeout"); err != nil {
				return err
			}
			return runUndrain(cmd.Context(), o, args[0], wait, timeout, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until traffic is back")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0: for ever")
	return cmd
}

func runUndrain(ctx context.Context, o *options, cluster string, wait bool, timeout time.Duration, out, progress io.Writer) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	d, err := h.drainOf(ctx, cluster)
	if err != nil {
		return err
	}
	if d == nil {
		if _, err := h.clusterNamed(ctx, cluster); err != nil {
			return err
		}
		return fmt.Errorf("cluster %q is not drained: there is no ClusterDrain for it", cluster)
	}
	before := d.DeepCopy()
	d.Spec.Desired = v1alpha1.InService
	if err := h.Patch(ctx, d, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("ask to undrain cluster %q: %w", cluster, err)
	}
	if !wait {
		return o.printDrain(out, d)
	}
	told := &teller{out: progress}
	for {
		d, err = h.follow(ctx, d, timeout, told, func(d *v1alpha1.ClusterDrain) (bool, error) {
			if d.Spec.Desired != v1alpha1.InService {
				return true, fmt.Errorf("cluster %q is being drained again: somebody turned ClusterDrain %q round while it was waited for", cluster, d.Name)
			}
			return d.Status.ObservedGeneration == d.Generation && d.Status.Goal == "", nil
		})
		if errors.Is(err, errVanished) {
			told.say(fmt.Sprintf("ClusterDrain %q has been ended by somebody else meanwhile", d.Name))
			return o.printDrain(out, d)
		}
		if err != nil {
			return err
		}
		// Only as it was seen: somebody may have asked to drain again since, and to delete that wish would abort it.
		err = h.Delete(ctx, d, client.Preconditions{UID: &d.UID, ResourceVersion: &d.ResourceVersion})
		if apierrors.IsConflict(err) {
			continue
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ClusterDrain %q: %w", d.Name, err)
		}
		return o.printDrain(out, d)
	}
}
