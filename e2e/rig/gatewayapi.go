// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// InstallGatewayAPI installs the standard definitions of the Gateway API into the cluster, of the version that its istiod is
// built with. Clusters start without them, as many do.
func (c *Cluster) InstallGatewayAPI(ctx context.Context) error {
	dir, err := moduleDir(ctx, c.fleet.options.Repo, "sigs.k8s.io/gateway-api")
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "config", "crd", "standard", "gateway.networking.k8s.io_*.yaml"))
	if err != nil {
		return fmt.Errorf("find the Gateway API's definitions: %w", err)
	}
	if len(files) == 0 {
		return errors.New("find the Gateway API's definitions: none in " + dir)
	}
	manifests := make([]string, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read the Gateway API's definitions: %w", err)
		}
		manifests = append(manifests, string(text))
	}
	return c.Apply(ctx, manifests...)
}
