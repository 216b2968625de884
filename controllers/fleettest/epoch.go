// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Epochs is the record that a hub keeps of its epochs, in memory. Two terms of one hub share it. It is safe for concurrent use.
type Epochs struct {
	mu      sync.Mutex
	highest int64
	err     error
}

// Raise takes an epoch above floor and all that were taken before; it returns 0 to who does not hold the last one any more.
func (e *Epochs) Raise(_ context.Context, held, floor int64) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return 0, e.err
	case held > 0 && held != e.highest:
		return 0, nil
	}
	e.highest = max(e.highest, floor) + 1
	return e.highest, nil
}

// Fail makes the record answer with an error; nil: no longer.
func (e *Epochs) Fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

// What an API server has of the agent's release as far as epochs go.
const (
	epochsGuarded   = iota // all of it
	epochsUnguarded        // the kind, and no policy
	epochsUnknown          // nothing
)

// Unguard takes the admission policies away that refuse older epochs.
func (a *APIServer) Unguard() { a.setEpochs(epochsUnguarded) }

// Unknow takes the kind FederationEpoch away, too: as in a member with an agent's release that is older, or none.
func (a *APIServer) Unknow() { a.setEpochs(epochsUnknown) }

// Guard brings all of it back.
func (a *APIServer) Guard() { a.setEpochs(epochsGuarded) }

func (a *APIServer) setEpochs(state int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epochs = state
}

// EpochRequests returns "METHOD PATH?QUERY" of what was asked of FederationEpochs since the last call. [APIServer.Requests]
// leaves it out, and [APIServer.Fail] does not concern it.
func (a *APIServer) EpochRequests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.epochRequests
	a.epochRequests = nil
	return out
}

// Epoch is the FederationEpoch that stands; the zero value where there is none.
func (a *APIServer) Epoch(ctx context.Context) v1alpha1.FederationEpochSpec {
	var e v1alpha1.FederationEpoch
	if a.Store.Get(ctx, client.ObjectKey{Name: v1alpha1.FederationEpochName}, &e) != nil {
		return v1alpha1.FederationEpochSpec{}
	}
	return e.Spec
}

const epochPlural = "federationepochs"

// aboutEpochs keeps a record of a request, and says whether it is of FederationEpochs.
func (a *APIServer) aboutEpochs(r *http.Request) bool {
	if !strings.Contains(r.URL.Path, "/"+epochPlural) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epochRequests = append(a.epochRequests, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
	return true
}

// guard does what the policies weir-epoch* of the agent's chart do: it refuses a write of a hub with an older epoch than
// stands, or of another hub.
func (a *APIServer) guard(r *http.Request, t target, body []byte) error {
	a.mu.Lock()
	state := a.epochs
	a.mu.Unlock()
	if state == epochsUnknown && t.plural == epochPlural {
		return errNoSuchPath
	}
	write := r.Method != http.MethodGet && (t.plural != epochPlural || r.Method != http.MethodPost)
	if state != epochsGuarded || !write || r.UserAgent() != "weir-hub" || t.gvk.Group == "admissionregistration.k8s.io" {
		return nil
	}
	labels, marks := a.seen(r, t, body)
	if !weirs(labels) {
		return nil
	}
	stands := a.Epoch(r.Context())
	epoch, _ := strconv.ParseInt(marks[v1alpha1.AnnotationEpoch], 10, 64)
	if stands.Epoch == 0 || marks[v1alpha1.AnnotationHub] != stands.HubUID || epoch < stands.Epoch {
		return apierrors.NewForbidden(a.resource(t), t.name, fmt.Errorf(
			"ValidatingAdmissionPolicy 'weir-epoch' with binding 'weir-epoch' denied request: hub %q with epoch %d, want %q with %d", marks[v1alpha1.AnnotationHub], epoch, stands.HubUID, stands.Epoch))
	}
	return nil
}

// weirs says whether the policies look at what bears these labels.
func weirs(labels map[string]string) bool {
	return labels["app.kubernetes.io/managed-by"] == "weir" || labels["weir.io/fence"] != "" || labels["istio.io/draining"] != "" || labels["weir.io/limits"] != ""
}

// seen are the labels and annotations that an admission policy would look at: those that would stand, and of labels those
// that stood, too. A write to a status changes neither.
func (a *APIServer) seen(r *http.Request, t target, body []byte) (labels, annotations map[string]string) {
	labels, annotations = map[string]string{}, map[string]string{}
	if live, err := a.live(r, t); err == nil {
		maps.Copy(labels, live.GetLabels())
		maps.Copy(annotations, live.GetAnnotations())
	}
	var said unstructured.Unstructured
	if t.subresource == "status" || r.Method == http.MethodDelete || json.Unmarshal(body, &said.Object) != nil {
		return labels, annotations
	}
	maps.Copy(labels, said.GetLabels())
	maps.Copy(annotations, said.GetAnnotations())
	return labels, annotations
}

// keepsEpoch refuses what the definition's own rules refuse: an epoch that falls, or another hub with the same.
func (a *APIServer) keepsEpoch(r *http.Request, t target, u *unstructured.Unstructured) error {
	if t.plural != epochPlural {
		return nil
	}
	var next v1alpha1.FederationEpoch
	raw, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(raw, &next)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	before := a.Epoch(r.Context())
	if next.Spec.Epoch < before.Epoch || next.Spec.HubUID != before.HubUID && next.Spec.Epoch == before.Epoch {
		return apierrors.NewInvalid(t.gvk.GroupKind(), t.name, field.ErrorList{field.Invalid(field.NewPath("spec"), next.Spec.Epoch, "an epoch only grows")})
	}
	return nil
}
