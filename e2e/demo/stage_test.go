// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What an API server answers right after its start, word by word: it says that it forbids, with a reason that says otherwise.
func TestOnlyAPolicyThatTheServerCannotMakeSenseOfIsWaitedFor(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	denied := func(text string, reason metav1.StatusReason, code int32) error {
		err := apierrors.NewForbidden(deployments, "Unknown", errors.New("ValidatingAdmissionPolicy 'weir-epoch' denied request: "+text))
		err.ErrStatus.Reason, err.ErrStatus.Code = reason, code
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"the kind is not found yet": {denied("failed to configure policy: failed to find resource referenced by paramKind: 'federation.weir.io/v1alpha1, Kind=FederationEpoch'", metav1.StatusReasonInvalid, http.StatusUnprocessableEntity), true},
		"the policy says no":        {denied("this cluster belongs to another hub", metav1.StatusReasonForbidden, http.StatusForbidden), false},
		"no right":                  {apierrors.NewForbidden(deployments, "", errors.New("no")), false},
		"done":                      {nil, false},
	} {
		if got := unresolved(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
