// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

func TestAConfigurationThatReachesNothingIsRefused(t *testing.T) {
	for name, config := range map[string]Config{
		"nothing":            {},
		"no Istio namespace": {REST: &rest.Config{Host: "127.0.0.1:1"}},
		"no API server":      {IstioNamespace: "istio-system"},
		"a broken address":   {IstioNamespace: "istio-system", REST: &rest.Config{Host: "http://[::1"}},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestARefusalIsAnAnswerAndAFailureIsNone(t *testing.T) {
	for status, answers := range map[int]bool{
		http.StatusOK: true, http.StatusForbidden: true, http.StatusInternalServerError: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		c, err := newClients(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.answers(t.Context()); (err == nil) != answers {
			t.Errorf("status %d: error %v", status, err)
		}
		server.CloseClientConnections()
		server.Close()
	}
}
