// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// EpochConfigMap is the ConfigMap in the hub's namespace that keeps the epoch of the last leader.
const EpochConfigMap = "weir-epoch"

// Keys of EpochConfigMap.
const (
	KeyEpoch  = "epoch"
	KeyLeader = "leader"
)

// maxEpoch is the highest that members' policies read: eighteen digits.
const maxEpoch = 999_999_999_999_999_999

// raiseTries is how often it is tried anew when somebody else wrote at the same time.
const raiseTries = 5

const fieldManager = "weir-election"

// Record gives epochs, each once. It needs no member to remember: also one that did not answer to the last leaders is written
// to with a higher epoch than theirs. One that was lost, or restored from a backup, is made up for by what members hold.
type Record struct {
	Client    kubernetes.Interface
	Namespace string
	// Leader is told to people who look.
	Leader string
}

// Raise takes an epoch above floor and all before, for who holds one (0: none yet); 0 is the answer to who does not hold the
// last one any more.
func (r *Record) Raise(ctx context.Context, held, floor int64) (int64, error) {
	var err error
	for range raiseTries {
		var have *corev1.ConfigMap
		have, err = r.Client.CoreV1().ConfigMaps(r.Namespace).Get(ctx, EpochConfigMap, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, fmt.Errorf("read ConfigMap %s/%s: %w", r.Namespace, EpochConfigMap, err)
		}
		var last int64
		if err == nil {
			if last, err = strconv.ParseInt(have.Data[KeyEpoch], 10, 64); err != nil || last < 0 || last >= maxEpoch {
				return 0, fmt.Errorf("ConfigMap %s/%s: key %s is %q and no number that can be raised: delete the ConfigMap, it is made anew above what members hold",
					r.Namespace, EpochConfigMap, KeyEpoch, have.Data[KeyEpoch])
			}
			if held > 0 && last != held {
				return 0, nil
			}
		} else {
			have, last = nil, held
		}
		if floor >= maxEpoch {
			return 0, fmt.Errorf("there is no epoch above %d", floor)
		}
		next := max(last, floor) + 1
		if err = r.write(ctx, have, next); err == nil {
			return next, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return 0, fmt.Errorf("write ConfigMap %s/%s: %w", r.Namespace, EpochConfigMap, err)
}

// write writes on top of what was read; nil: there was none.
func (r *Record) write(ctx context.Context, have *corev1.ConfigMap, epoch int64) error {
	data := map[string]string{KeyEpoch: strconv.FormatInt(epoch, 10), KeyLeader: r.Leader}
	if have == nil {
		fresh := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: EpochConfigMap}, Data: data}
		_, err := r.Client.CoreV1().ConfigMaps(r.Namespace).Create(ctx, fresh, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	}
	have = have.DeepCopy()
	have.Data = data
	_, err := r.Client.CoreV1().ConfigMaps(r.Namespace).Update(ctx, have, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}
