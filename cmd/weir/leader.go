// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/weir-io/weir/controllers/election"
)

// leaderOptions are the flags by which one of several hubs leads.
type leaderOptions struct {
	podName string
	podUID  string
	lease   time.Duration
	renew   time.Duration
	retry   time.Duration
}

func (o *leaderOptions) add(f *pflag.FlagSet) {
	f.StringVar(&o.podName, "pod-name", os.Getenv("POD_NAME"), "name of the hub's pod, by which it finds its own lease after a restart; default: POD_NAME")
	f.StringVar(&o.podUID, "pod-uid", os.Getenv("POD_UID"), "UID of the hub's pod; default: POD_UID")
	f.DurationVar(&o.lease, "lease-duration", 15*time.Second, "how long a hub that stands by waits for a leader that is silent, while its pod is there")
	f.DurationVar(&o.renew, "renew-deadline", 10*time.Second, "how long the leader tries to renew its lease before it ends")
	f.DurationVar(&o.retry, "retry-period", 2*time.Second, "how long between two tries to take or renew the lease")
}

// validate refuses what client-go's elector would, in words of flags.
func (o leaderOptions) validate() error {
	switch {
	case o.retry < 100*time.Millisecond:
		return fmt.Errorf("--retry-period %s is too short: each try is a request", o.retry)
	case o.renew <= o.retry*6/5:
		return fmt.Errorf("--renew-deadline %s must be longer than --retry-period %s by more than a fifth", o.renew, o.retry)
	case o.lease <= o.renew:
		return fmt.Errorf("--lease-duration %s must be longer than --renew-deadline %s: else two could lead at once", o.lease, o.renew)
	case o.lease%time.Second != 0:
		return fmt.Errorf("--lease-duration %s: give whole seconds, a Lease holds no others", o.lease)
	}
	return nil
}

// lock is this process's view of the Lease. A request that hangs must not cost the lease, so each is given up in time.
func (o leaderOptions) lock(config *rest.Config, namespace string) (*election.Lock, error) {
	config = rest.CopyConfig(config)
	config.Timeout = max(time.Second, o.renew/2)
	kube, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("make client for the election: %w", err)
	}
	return election.NewLock(kube, namespace, election.Pod{Name: o.podName, UID: types.UID(o.podUID)}), nil
}

// leads is the readiness of a hub: agents are let in by the one that leads, so the Service shall know no other.
func leads(elected <-chan struct{}, lock resourcelock.Interface) func(*http.Request) error {
	return func(*http.Request) error {
		select {
		case <-elected:
			return nil
		default:
			return errors.New("another hub holds the Lease " + lock.Describe() + ": this one stands by")
		}
	}
}

// hubUID is the UID of the hub's namespace kube-system, which is made once in the life of a cluster and comes back with a backup.
func hubUID(ctx context.Context, kube kubernetes.Interface) (string, error) {
	system, err := kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read namespace %s, whose UID identifies the hub: %w", metav1.NamespaceSystem, err)
	}
	return string(system.UID), nil
}
