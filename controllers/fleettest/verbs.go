// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// do carries one request out on the store.
func (a *APIServer) do(r *http.Request, body []byte) (any, error) {
	t, err := targetOf(r.URL.Path)
	if err != nil {
		return nil, err
	}
	if err := a.guard(r, t, body); err != nil {
		return nil, err
	}
	switch {
	case r.Method == http.MethodGet && t.name == "":
		return a.list(r, t)
	case r.Method == http.MethodGet:
		return a.live(r, t)
	case r.Method == http.MethodDelete:
		return a.delete(r, t, body)
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") != string(types.ApplyPatchType):
		return a.patch(r, t, body)
	}
	u, err := a.decode(t, body)
	if err != nil {
		return nil, err
	}
	manager := r.URL.Query().Get("fieldManager")
	switch r.Method {
	case http.MethodPost:
		fill(u)
		u.SetUID(a.uid())
		return u, a.Store.Create(r.Context(), u, client.FieldOwner(manager))
	case http.MethodPut:
		fill(u)
		if err := a.keepsEpoch(r, t, u); err != nil {
			return nil, err
		}
		return u, a.Store.Update(r.Context(), u, client.FieldOwner(manager))
	case http.MethodPatch:
		return u, a.apply(r, t, u)
	}
	return nil, apierrors.NewMethodNotSupported(a.resource(t), r.Method)
}

func (a *APIServer) uid() types.UID {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.uids++
	return types.UID(fmt.Sprintf("uid-%d", a.uids))
}

func (a *APIServer) live(r *http.Request, t target) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(t.gvk)
	return u, a.Store.Get(r.Context(), types.NamespacedName{Namespace: t.namespace, Name: t.name}, u)
}

func (a *APIServer) apply(r *http.Request, t target, u *unstructured.Unstructured) error {
	config := client.ApplyConfigurationFromUnstructured(u)
	owner := client.FieldOwner(r.URL.Query().Get("fieldManager"))
	force := r.URL.Query().Get("force") == "true"
	switch {
	case t.subresource == "status" && force:
		return a.Store.Status().Apply(r.Context(), config, owner, client.ForceOwnership)
	case t.subresource == "status":
		return a.Store.Status().Apply(r.Context(), config, owner)
	case force:
		return a.Store.Apply(r.Context(), config, owner, client.ForceOwnership)
	}
	return a.Store.Apply(r.Context(), config, owner)
}

// patch merges. As on a real server, a patch that names another UID than the object's is a conflict.
func (a *APIServer) patch(r *http.Request, t target, body []byte) (any, error) {
	u, err := a.live(r, t)
	if err != nil {
		return nil, err
	}
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &named); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if named.UID != "" && named.UID != u.GetUID() {
		return nil, apierrors.NewConflict(a.resource(t), t.name,
			fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", named.UID, u.GetUID()))
	}
	if r.URL.Query().Get("dryRun") != "" {
		return u, nil
	}
	patch := client.RawPatch(types.PatchType(r.Header.Get("Content-Type")), body)
	return u, a.Store.Patch(r.Context(), u, patch, client.FieldOwner(r.URL.Query().Get("fieldManager")))
}

var deleteOptions = schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}

func (a *APIServer) delete(r *http.Request, t target, body []byte) (any, error) {
	u, err := a.live(r, t)
	if err != nil {
		return nil, err
	}
	var options metav1.DeleteOptions
	if len(body) > 0 {
		if _, _, err := a.codecs.UniversalDeserializer().Decode(body, &deleteOptions, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != u.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != u.GetResourceVersion() {
			return nil, apierrors.NewConflict(a.resource(t), t.name, errors.New("the object is not the one in the precondition"))
		}
	}
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}, a.Store.Delete(r.Context(), u)
}

func (a *APIServer) resource(t target) schema.GroupResource {
	return schema.GroupResource{Group: t.gvk.Group, Resource: t.plural}
}
