// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// renderChart renders a chart's folder with Helm's own engine and returns its manifests as YAML documents.
func renderChart(dir, release, namespace string, v map[string]any) (string, error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return "", fmt.Errorf("load chart %s: %w", dir, err)
	}
	kube, err := common.ParseKubeVersion(kubernetesVersion)
	if err != nil {
		return "", fmt.Errorf("render chart %s: %w", dir, err)
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *kube
	options := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, v, options, caps)
	if err != nil {
		return "", fmt.Errorf("values of chart %s: %w", dir, err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", fmt.Errorf("render chart %s: %w", dir, err)
	}
	names := make([]string, 0, len(files))
	for n := range files {
		if base := path.Base(n); strings.HasSuffix(base, ".yaml") && !strings.HasPrefix(base, "_") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	var out strings.Builder
	for _, n := range names {
		if strings.TrimSpace(files[n]) != "" {
			fmt.Fprintf(&out, "---\n%s\n", files[n])
		}
	}
	return out.String(), nil
}
