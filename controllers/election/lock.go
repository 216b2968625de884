// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// LeaseName is the name of the Lease in the hub's namespace.
const LeaseName = "weir-hub"

// Pod is the pod that a hub runs in. A container that is started anew in it is the same candidate, and no other pod is.
type Pod struct {
	Name string
	UID  types.UID
}

// podPrefix begins the identities of candidates that run in pods.
const podPrefix = "pod/"

// identity of a candidate; without a pod it is one that nobody had before.
func (p Pod) identity() string {
	if p.Name == "" || p.UID == "" {
		return "process/" + string(uuid.NewUUID())
	}
	return podPrefix + p.Name + "/" + string(p.UID)
}

// podOf reads an identity; the zero value is none of a pod.
func podOf(identity string) Pod {
	name, uid, ok := strings.Cut(strings.TrimPrefix(identity, podPrefix), "/")
	if !ok || !strings.HasPrefix(identity, podPrefix) {
		return Pod{}
	}
	return Pod{name, types.UID(uid)}
}

// Lock is the Lease that the leader of a hub holds. It is for one candidate.
type Lock struct {
	*resourcelock.LeaseLock

	kube kubernetes.Interface
}

// NewLock returns a candidate's view of the Lease in a namespace.
func NewLock(kube kubernetes.Interface, namespace string, self Pod) *Lock {
	return &Lock{kube: kube, LeaseLock: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: LeaseName}, Client: kube.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: self.identity()},
	}}
}

// Get returns who holds the lease; nobody, where that was a pod that is no more.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.LeaseLock.Get(ctx)
	if err != nil || record.HolderIdentity == "" || record.HolderIdentity == l.Identity() {
		return record, raw, err
	}
	holder := record.HolderIdentity
	gone, err := l.gone(ctx, podOf(holder))
	if err != nil {
		// Who cannot see whether the holder is there waits for its lease to end.
		logf.FromContext(ctx).Info("cannot see whether the leader's pod is there", "holder", holder, "err", err.Error())
		return record, raw, nil
	}
	if !gone {
		return record, raw, nil
	}
	record.HolderIdentity = ""
	if raw, err = json.Marshal(*record); err != nil {
		return nil, nil, fmt.Errorf("lease %s: %w", l.Describe(), err)
	}
	return record, raw, nil
}

// gone says whether a pod is no more, or has ended for good.
func (l *Lock) gone(ctx context.Context, holder Pod) (bool, error) {
	if holder.Name == "" {
		return false, nil
	}
	p, err := l.kube.CoreV1().Pods(l.LeaseMeta.Namespace).Get(ctx, holder.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read pod %s/%s: %w", l.LeaseMeta.Namespace, holder.Name, err)
	}
	return p.UID != holder.UID || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed, nil
}
