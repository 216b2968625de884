// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Request is one request that an APIServer received.
type Request struct {
	Method, Path, Query string
	// Token is the bearer token of the request.
	Token string
	Body  string
}

// APIServer is the API server of one cluster, over TLS on loopback. It is safe for concurrent use.
type APIServer struct {
	// Store holds the objects; what tests do by it is not on record.
	Store client.WithWatch
	// URL is the address, CA the certificate that a client must trust, as PEM.
	URL string
	CA  []byte

	server *httptest.Server
	codecs serializer.CodecFactory

	mu            sync.Mutex
	requests      []Request
	epochRequests []string
	epochs        int // what it has of the agent's release
	fault         func(Request) error
	uids          int
}

// NewAPIServer starts an API server on which objects stand. It ends with the test.
func NewAPIServer(t *testing.T, objects ...client.Object) *APIServer {
	t.Helper()
	withStatus := &unstructured.Unstructured{}
	withStatus.SetGroupVersionKind(schema.GroupVersionKind{Group: "multicluster.x-k8s.io", Version: "v1beta1", Kind: "ServiceExport"})
	imports := withStatus.DeepCopy()
	imports.SetKind("ServiceImport")
	a := &APIServer{
		Store:  builder(t).WithStatusSubresource(withStatus, imports).WithReturnManagedFields().WithObjects(objects...).Build(),
		codecs: serializer.NewCodecFactory(Scheme(t)),
	}
	a.server = httptest.NewTLSServer(a)
	t.Cleanup(a.Stop)
	a.URL = a.server.URL
	a.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	return a
}

// Stop ends the server: from then on it is silent. It may be called more than once.
func (a *APIServer) Stop() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// Fail makes the server answer with the error that fault returns; nil lets a request pass.
func (a *APIServer) Fail(fault func(Request) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = fault
}

// Requests returns what was received since the last call, discovery and FederationEpochs aside.
func (a *APIServer) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.requests
	a.requests = nil
	return out
}

// Writes returns "METHOD PATH" of what was received since the last call, reads aside.
func (a *APIServer) Writes() []string {
	var out []string
	for _, r := range a.Requests() {
		if r.Method != http.MethodGet {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	return out
}

// Kubeconfig is a kubeconfig of the server with a token.
func (a *APIServer) Kubeconfig(token string) []byte { return Kubeconfig(a.URL, a.CA, "token: "+token) }

// Kubeconfig is a kubeconfig with one context, "it"; user is the YAML of its user, one line.
func Kubeconfig(server string, ca []byte, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: it, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: it, user: {%s}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
current-context: it
`, server, encoded(ca), user)
}

func encoded(b []byte) string {
	raw, err := json.Marshal(b)
	if err != nil {
		return ""
	}
	return string(raw)
}

// ServeHTTP answers as an API server does.
func (a *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if found := discovery(r.URL.Path); found != nil {
		answer(w, http.StatusOK, found)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request := Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body),
		Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
	}
	if !a.aboutEpochs(r) {
		a.mu.Lock()
		a.requests = append(a.requests, request)
		fault := a.fault
		a.mu.Unlock()
		if fault != nil {
			err = fault(request)
		}
	}
	var out any
	if err == nil {
		out, err = a.do(r, body)
	}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		s := status.Status()
		s.Kind, s.APIVersion = "Status", "v1"
		answer(w, int(s.Code), s)
	case errors.Is(err, errNoSuchPath):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		answer(w, http.StatusOK, out)
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client that hung up has nobody left to tell.
}

// decode reads a body as JSON or as the protobuf of a known kind.
func (a *APIServer) decode(t target, body []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if json.Unmarshal(body, &u.Object) != nil {
		o, _, err := a.codecs.UniversalDeserializer().Decode(body, &t.gvk, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		raw, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(raw, &u.Object); err != nil {
			return nil, err
		}
	}
	u.SetGroupVersionKind(t.gvk)
	u.SetNamespace(t.namespace)
	if t.name != "" {
		u.SetName(t.name)
	}
	return u, nil
}

func (a *APIServer) list(r *http.Request, t target) (any, error) {
	out := &unstructured.UnstructuredList{}
	out.SetGroupVersionKind(t.gvk.GroupVersion().WithKind(t.gvk.Kind + "List"))
	options := []client.ListOption{client.InNamespace(t.namespace)}
	if text := r.URL.Query().Get("labelSelector"); text != "" {
		selector, err := labels.Parse(text)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	}
	if err := a.Store.List(r.Context(), out, options...); err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	return out, nil
}

// fill does what an API server and its token controller do with a new Secret.
func fill(u *unstructured.Unstructured) {
	if u.GetKind() != "Secret" {
		return
	}
	data, _, _ := unstructured.NestedMap(u.Object, "data")
	if data == nil {
		data = map[string]any{}
	}
	plain, _, _ := unstructured.NestedStringMap(u.Object, "stringData")
	for k, v := range plain {
		data[k] = strings.Trim(encoded([]byte(v)), `"`)
	}
	if kind, _, _ := unstructured.NestedString(u.Object, "type"); kind == string(corev1.SecretTypeServiceAccountToken) {
		data[corev1.ServiceAccountTokenKey] = strings.Trim(encoded([]byte("token-of-"+u.GetName())), `"`)
	}
	delete(u.Object, "stringData")
	u.Object["data"] = data
}
