// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// meshSettings is what weir needs of the mesh's settings.
type meshSettings struct {
	rootNamespace string
	// drain is how long a proxy that is told to stop still takes requests.
	drain time.Duration
	// counts says that proxies export statistics of what comes in.
	counts bool
}

// defaultDrain is Istio's own.
const defaultDrain = 5 * time.Second

// parseMesh reads the ConfigMap's key "mesh". Fields of other versions are passed over. An empty text is a mesh with
// nothing set.
func parseMesh(text string) (meshSettings, error) {
	var in struct {
		RootNamespace string      `json:"rootNamespace"`
		DefaultConfig proxyConfig `json:"defaultConfig"`
	}
	if err := yaml.Unmarshal([]byte(text), &in); err != nil {
		return meshSettings{drain: defaultDrain}, fmt.Errorf("read mesh settings: %w", err)
	}
	return meshSettings{
		rootNamespace: in.RootNamespace,
		drain:         in.DefaultConfig.drain(defaultDrain),
		counts:        in.DefaultConfig.ProxyStatsMatcher.countsInbound(),
	}, nil
}

// proxyConfig is the part of Istio's ProxyConfig that is read, from the mesh or from a pod's annotation.
type proxyConfig struct {
	TerminationDrainDuration string       `json:"terminationDrainDuration"`
	ProxyStatsMatcher        statsMatcher `json:"proxyStatsMatcher"`
}

// parseProxy reads a pod's annotation; one that cannot be read says nothing.
func parseProxy(text string) proxyConfig {
	var c proxyConfig
	if text == "" {
		return c
	}
	if yaml.Unmarshal([]byte(text), &c) != nil {
		return proxyConfig{}
	}
	return c
}

func (c proxyConfig) drain(otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(c.TerminationDrainDuration); err == nil && d > 0 {
		return d
	}
	return otherwise
}

// statsMatcher says which statistics a proxy keeps besides the few it always has.
type statsMatcher struct {
	Prefixes []string `json:"inclusionPrefixes"`
	Suffixes []string `json:"inclusionSuffixes"`
	Regexps  []string `json:"inclusionRegexps"`
}

// inboundRequests is the statistic that tells whether anything still arrives, as two generations of proxies write it.
var inboundRequests = []string{
	"http.inbound_0.0.0.0_8080;.downstream_rq_total",
	"http.inbound_0.0.0.0_8080.downstream_rq_total",
}

func (m statsMatcher) countsInbound() bool {
	return slices.ContainsFunc(inboundRequests, func(name string) bool {
		return slices.ContainsFunc(m.Prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
			slices.ContainsFunc(m.Suffixes, func(s string) bool { return strings.HasSuffix(name, s) }) ||
			slices.ContainsFunc(m.Regexps, func(r string) bool {
				re, err := regexp.Compile("^(?:" + r + ")$") // Envoy matches whole names, in the same syntax.
				return err == nil && re.MatchString(name)
			})
	})
}
