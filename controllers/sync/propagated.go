// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// propagated sums up the copies in members: the worst decides. names are those of the members, in the same order.
func propagated(copies []v1alpha1.MemberCopy, names []string) (metav1.ConditionStatus, string, string) {
	failed, blind, waiting := -1, -1, -1
	for i, c := range copies {
		switch {
		case failed < 0 && (c.Sync == v1alpha1.SyncFailed || c.Sync == v1alpha1.SyncConflict):
			failed = i
		case blind < 0 && (c.Sight == v1alpha1.SightBlind || c.Reason == v1alpha1.ReasonContactLost):
			blind = i
		case waiting < 0 && c.Sync != v1alpha1.SyncSynced:
			waiting = i
		}
	}
	switch {
	case failed >= 0:
		return metav1.ConditionFalse, or(copies[failed].Reason, ReasonWriteFailed), names[failed] + ": " + copies[failed].Message
	case blind >= 0:
		return metav1.ConditionUnknown, v1alpha1.ReasonContactLost, names[blind] + " is not seen; what is shown of it is what was seen last"
	case waiting >= 0:
		return metav1.ConditionFalse, or(copies[waiting].Reason, "Pending"), or(copies[waiting].Message, names[waiting]+" is being brought to what it shall hold")
	case len(copies) == 0:
		return metav1.ConditionTrue, "Propagated", "no member shall hold anything"
	}
	return metav1.ConditionTrue, "Propagated", hub.Count(len(copies), "member") + " in all, and each holds what it shall"
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
