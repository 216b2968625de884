// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mcs

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// maxMessage is the longest message that the schema of conditions takes.
const maxMessage = 32_768

// ExportConditions returns all conditions of one cluster's ServiceExport: Valid,
// Ready and Conflict, from the first visit on. Conflicts are told on every export
// of the name, not on those in the minority alone. Their transition times are
// left for the writer, who knows what stood there before.
//
// Written says whether the imports made of this export stand in the clusters that
// can be reached.
func ExportConditions(e Export, imp Import, conflicts []Conflict, written bool) []metav1.Condition {
	out := []metav1.Condition{
		exportCondition(mcsv1beta1.ServiceExportConditionValid, metav1.ConditionTrue, mcsv1beta1.ServiceExportReasonValid, ""),
		exportCondition(mcsv1beta1.ServiceExportConditionReady, metav1.ConditionTrue, mcsv1beta1.ServiceExportReasonExported, ""),
		conflictCondition(e, imp, conflicts),
	}
	switch {
	case e.Invalid != "":
		out[0] = exportCondition(mcsv1beta1.ServiceExportConditionValid, metav1.ConditionFalse, e.Invalid, invalidMessage(e.Invalid))
		out[1] = exportCondition(mcsv1beta1.ServiceExportConditionReady, metav1.ConditionFalse, mcsv1beta1.ServiceExportReasonFailed,
			"nothing is exported while the export is not valid")
	case !written:
		out[1] = exportCondition(mcsv1beta1.ServiceExportConditionReady, metav1.ConditionFalse, mcsv1beta1.ServiceExportReasonPending,
			"the service is not imported in every cluster yet")
	}
	return out
}

func invalidMessage(reason mcsv1beta1.ServiceExportConditionReason) string {
	if reason == mcsv1beta1.ServiceExportReasonNoService {
		return "there is no Service of this name in this cluster; create it or delete the ServiceExport"
	}
	return "an ExternalName Service has no endpoints to export; give the Service a selector or delete the ServiceExport"
}

func conflictCondition(e Export, imp Import, conflicts []Conflict) metav1.Condition {
	if len(conflicts) == 0 || e.Invalid != "" {
		return exportCondition(mcsv1beta1.ServiceExportConditionConflict, metav1.ConditionFalse, mcsv1beta1.ServiceExportReasonNoConflicts, "")
	}
	reasons, messages := make([]string, len(conflicts)), make([]string, len(conflicts))
	for i, c := range conflicts {
		reasons[i], messages[i] = string(c.Reason), c.String()
	}
	message := strings.Join(messages, "; ")
	if imp.Continuity {
		message += fmt.Sprintf("; cluster %s is younger than another, and kept for continuity", imp.Winner)
	}
	return exportCondition(mcsv1beta1.ServiceExportConditionConflict, metav1.ConditionTrue,
		mcsv1beta1.ServiceExportConditionReason(strings.Join(reasons, ",")), message)
}

func exportCondition(t mcsv1beta1.ServiceExportConditionType, status metav1.ConditionStatus, reason mcsv1beta1.ServiceExportConditionReason, message string) metav1.Condition {
	return metav1.Condition{Type: string(t), Status: status, Reason: string(reason), Message: bounded(message)}
}

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	const cut = " …"
	return strings.ToValidUTF8(message[:maxMessage-len(cut)], "") + cut
}
