// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package concern

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/weir-io/weir/mesh/istio"
)

const (
	typeCluster  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	typeListener = "type.googleapis.com/envoy.config.listener.v3.Listener"
	typeRoutes   = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
)

// maxDepth bounds how deep a configuration may nest.
const maxDepth = 64

// Read reads a proxy's configuration, a ConfigDump as JSON whose entries are
// clusters, listeners and route configurations, and tells for each of hosts how
// the proxy can reach it. Hosts that it can not reach are not in the answer.
func Read(r io.Reader, hosts []string) (map[string]Reach, error) {
	s := scan{wanted: make(map[string]bool, len(hosts)), found: map[string]Reach{}}
	for _, h := range hosts {
		s.wanted[h] = true
		s.marks = append(s.marks, []byte(h))
	}
	dec := json.NewDecoder(r)
	if err := seekConfigs(dec); err != nil {
		return nil, fmt.Errorf("read config dump: %w", err)
	}
	for i := 0; dec.More(); i++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("read config dump: entry %d: %w", i, err)
		}
		if err := s.entry(raw); err != nil {
			return nil, fmt.Errorf("read config dump: entry %d: %w", i, err)
		}
	}
	// A list without its end may lack what matters.
	for range 2 {
		if _, err := dec.Token(); err != nil {
			return nil, fmt.Errorf("read config dump: no end: %w", err)
		}
	}
	return s.found, nil
}

// seekConfigs goes to the first entry of {"configs": [ … ]}.
func seekConfigs(dec *json.Decoder) error {
	for _, want := range []json.Token{json.Delim('{'), "configs", json.Delim('[')} {
		got, err := dec.Token()
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("found %v where %v should be", got, want)
		}
	}
	return nil
}

type scan struct {
	wanted map[string]bool
	marks  [][]byte
	found  map[string]Reach
}

// mentions tells cheaply whether raw can name any wanted host at all.
func (s *scan) mentions(raw []byte) bool {
	return slices.ContainsFunc(s.marks, func(m []byte) bool { return bytes.Contains(raw, m) })
}

func (s *scan) entry(raw []byte) error {
	if !s.mentions(raw) {
		return nil
	}
	var head struct {
		Type string `json:"@type"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	switch head.Type {
	case typeCluster:
		s.cluster(head.Name)
		return nil
	case typeListener:
		return s.foreign(raw, "listener "+head.Name)
	case typeRoutes:
		return s.routes(raw, head.Name)
	}
	return nil
}

func (s *scan) cluster(name string) {
	c, ok := parseCluster(name)
	if !ok || !s.wanted[c.host] {
		return
	}
	r := s.found[c.host]
	if c.sni {
		r.Passthrough = true
	} else {
		r.Cluster = true
	}
	if c.subset != "" && !slices.Contains(r.Subsets, c.subset) {
		r.Subsets = append(r.Subsets, c.subset)
		slices.Sort(r.Subsets)
	}
	s.found[c.host] = r
}

func (s *scan) routes(raw []byte, config string) error {
	var rc struct {
		VirtualHosts []map[string]json.RawMessage `json:"virtualHosts"`
	}
	if err := json.Unmarshal(raw, &rc); err != nil {
		return err
	}
	for _, vh := range rc.VirtualHosts {
		var routes []json.RawMessage
		if list, ok := vh["routes"]; ok {
			if err := json.Unmarshal(list, &routes); err != nil {
				return err
			}
			delete(vh, "routes")
		}
		for _, route := range routes {
			if err := s.route(route, config); err != nil {
				return err
			}
		}
		// What else a virtual host says, mirrors among it, is not a route.
		for _, rest := range vh {
			if err := s.foreign(rest, "virtual host in routes "+config); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scan) route(raw []byte, config string) error {
	if !s.mentions(raw) {
		return nil
	}
	var head struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	generation, ours := istio.ParseRouteName(head.Name)
	if !ours {
		return s.foreign(raw, fmt.Sprintf("route %q in routes %s", head.Name, config))
	}
	return s.uses(raw, func(host string) {
		r := s.found[host]
		if !slices.Contains(r.Generations, generation) {
			r.Generations = append(r.Generations, generation)
			slices.Sort(r.Generations)
		}
		s.found[host] = r
	})
}

// foreign notes every use of a wanted host's cluster in raw as not ours.
func (s *scan) foreign(raw []byte, via string) error {
	return s.uses(raw, func(host string) {
		r := s.found[host]
		if r.Foreign == "" {
			r.Foreign = via
		}
		s.found[host] = r
	})
}

// uses calls found for each wanted host that any string in raw names a cluster
// of. It looks at all strings, since filters and extensions name clusters in
// places of their own.
func (s *scan) uses(raw []byte, found func(host string)) error {
	if !s.mentions(raw) {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return walk(v, 0, func(text string) {
		if c, ok := parseCluster(text); ok && !c.sni && s.wanted[c.host] {
			found(c.host)
		}
	})
}

func walk(v any, depth int, visit func(string)) error {
	if depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			if err := walk(e, depth+1, visit); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := walk(e, depth+1, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
