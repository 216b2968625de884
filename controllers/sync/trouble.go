// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
)

// Reasons why a member does not hold what it shall, beside those of the API.
const (
	ReasonNoNamespace   = "NoNamespace"
	ReasonRejected      = "Rejected"
	ReasonForbidden     = "Forbidden"
	ReasonWriteFailed   = "WriteFailed"
	ReasonLeftPlacement = "LeftPlacement"
	ReasonStillServes   = "StillServes"
	ReasonNotJoined     = "NotJoined"
)

// blind says whether an error is that nobody could look into the member.
func blind(err error) bool {
	var status apierrors.APIStatus
	return err != nil && !errors.As(err, &status)
}

// trouble says in one row why a copy is not as it shall be.
func trouble(row *v1alpha1.MemberCopy, cluster string, w *wish, namespace, name string, err error) {
	if own(row, cluster, w, namespace, name, err) {
		return
	}
	switch {
	case missing(err) == "namespaces":
		say(row, v1alpha1.SyncFailed, ReasonNoNamespace, fmt.Sprintf("there is no namespace %s in %s: make it there, with the labels that its pods need", namespace, cluster))
	case member.Unresolved(err):
		say(row, v1alpha1.SyncFailed, v1alpha1.ReasonEpochNotTaken, "the member's API server does not know the kind FederationEpoch, as for half a minute after its start, and lets nobody write what is weir's: it is tried again")
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		say(row, v1alpha1.SyncFailed, ReasonRejected, "the member's API server refuses it: "+err.Error())
	case apierrors.IsForbidden(err):
		say(row, v1alpha1.SyncFailed, ReasonForbidden, "the hub's account may not do this there, or an admission policy refuses it: "+err.Error())
	case blind(err):
		say(row, v1alpha1.SyncPending, v1alpha1.ReasonContactLost, "the member's API server does not answer; what is shown is what was seen last")
	default:
		say(row, v1alpha1.SyncFailed, ReasonWriteFailed, err.Error())
	}
}

// own says what weir itself found before it asked the member's API server, or in place of what that holds; false where it is
// that API server which refused.
func own(row *v1alpha1.MemberCopy, cluster string, w *wish, namespace, name string, err error) bool {
	if foreign, ok := errors.AsType[*member.ForeignError](err); ok {
		say(row, v1alpha1.SyncConflict, v1alpha1.ReasonConflict, fmt.Sprintf(
			"a %s %s/%s stands in %s that weir did not make (%s wrote it): rename the federated object, delete that one, or hand it over with the label %s=%s on it",
			w.of.kind, namespace, name, cluster, strings.Join(foreign.Managers, ", "), member.LabelManaged, member.LabelManagedValue))
		return true
	}
	if wrong, ok := errors.AsType[utilerrors.Aggregate](err); ok && len(wrong.Errors()) > 0 {
		if first, ok := errors.AsType[*field.Error](wrong.Errors()[0]); ok {
			say(row, v1alpha1.SyncFailed, reasonOf(field.ErrorList{first}), "nothing was changed there: "+err.Error())
			return true
		}
	}
	if held, ok := errors.AsType[*member.HoldError](err); ok {
		say(row, v1alpha1.SyncFailed, held.Reason, "nothing is written there: "+held.Message)
		return true
	}
	if errors.Is(err, member.ErrNoCredentials) {
		say(row, v1alpha1.SyncFailed, v1alpha1.ReasonNoCredentials, err.Error())
		return true
	}
	return false
}

// missing is the resource that an API server did not find; empty where it said no such thing.
func missing(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	return status.Status().Details.Kind
}

// reasonOf says which part of a federated object is wrong, by where its errors stand.
func reasonOf(errs field.ErrorList) string {
	if len(errs) > 0 && strings.HasPrefix(errs[0].Field, "spec.overrides") {
		return v1alpha1.ReasonInvalidOverride
	}
	return v1alpha1.ReasonInvalidTemplate
}
