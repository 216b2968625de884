// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/weir-io/weir/dns/zone"
)

// Report says which table is in force and what was answered that may still be cached.
func (s *Server) Report() zone.Report {
	now := s.current.Load()
	return zone.Report{Since: now.since.UTC(), Serial: now.table.Serial(), Given: now.ledger.given(time.Now())}
}

// ServeHTTP writes the report as JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(s.Report()); err != nil {
		s.log.Error("a report could not be written", "error", err)
	}
}
