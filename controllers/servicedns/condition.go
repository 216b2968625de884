// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/dns/zone/names"
)

// Reasons of the condition Resolvable where it is not False. Where it is, the reason is a code of dns/zone/names.
const (
	reasonAnswered = "Answered"
	reasonPending  = "Pending"
)

// failures are the reasons for which a name is not answered as it was wished, the weightiest first.
var failures = []names.Code{names.NoTarget, names.HostnameTaken, names.BadHostname, names.NoZone, names.BadTTL, names.BadInput}

// conditionOf says whether the service's names are answered as they were wished; nil where nobody wishes for any.
func conditionOf(gs *v1alpha1.GlobalService, served bool, reasons []names.Reason) *metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionResolvable, Status: metav1.ConditionTrue, Reason: reasonAnswered, ObservedGeneration: gs.Generation}
	if !served && len(reasons) == 0 {
		return nil
	}
	if served && len(gs.Status.Clusters) == 0 {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonPending, "nothing is known of its clusters yet"
		return &c
	}
	slices.SortStableFunc(reasons, func(a, b names.Reason) int { return rank(a.Code) - rank(b.Code) })
	var said []string
	for _, r := range reasons {
		message := r.Message
		if r.Cluster != "" {
			message = r.Cluster + ": " + message
		}
		said = append(said, message)
	}
	if len(reasons) > 0 && rank(reasons[0].Code) < len(failures) {
		c.Status, c.Reason = metav1.ConditionFalse, string(reasons[0].Code)
	}
	c.Message = hub.Clip(strings.Join(said, "; "), v1alpha1.MaxMessage)
	return &c
}

// rank is the place of a failure; what is only remarked comes after all of them.
func rank(code names.Code) int {
	if i := slices.Index(failures, code); i >= 0 {
		return i
	}
	return len(failures)
}
