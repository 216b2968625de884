// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
)

// envoyClusters is where an Envoy shows the clusters that it was given, and maxClusters how much of that is read.
const (
	envoyClusters = "http://127.0.0.1:15000/config_dump?resource=dynamic_active_clusters"
	maxClusters   = 32 << 20
)

// httpOptions is the extension in which Envoy keeps what holds for an upstream's requests.
const httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// IdleTimeouts asks the Envoy of a cluster's client how long it keeps a connection to a Service that carries nothing: for each
// Envoy cluster of the Service, by name; empty where Envoy's own hour holds.
func (c *Case) IdleTimeouts(ctx context.Context, cluster *rig.Cluster, service string) (map[string]string, error) {
	pod, err := c.Session.Client(ctx, cluster)
	if err != nil {
		return nil, err
	}
	space, err := cluster.PodSpace(demo.Namespace, pod)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, envoyClusters, http.NoBody)
	if err != nil {
		return nil, err
	}
	through := &http.Transport{DialContext: space.Dial, DisableKeepAlives: true}
	defer through.CloseIdleConnections()
	answer, err := (&http.Client{Transport: through}).Do(r)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: ask the Envoy of %s: %w", cluster.Name, pod, err)
	}
	defer answer.Body.Close()
	var dump struct {
		Configs []struct {
			Cluster struct {
				Name    string
				Options map[string]struct {
					Common struct {
						IdleTimeout string `json:"idle_timeout"`
					} `json:"common_http_protocol_options"`
				} `json:"typed_extension_protocol_options"`
			}
		}
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxClusters)).Decode(&dump); err != nil {
		return nil, fmt.Errorf("cluster %q: the Envoy of %s: %w", cluster.Name, pod, err)
	}
	out := map[string]string{}
	for _, d := range dump.Configs {
		if strings.HasSuffix(d.Cluster.Name, "|"+service+"."+demo.Namespace+".svc.cluster.local") {
			out[d.Cluster.Name] = d.Cluster.Options[httpOptions].Common.IdleTimeout
		}
	}
	return out, nil
}
