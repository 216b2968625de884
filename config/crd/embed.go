// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// FS holds one file for each kind, as <group>_<plural>.yaml.
//
//go:embed *.yaml
var FS embed.FS

// All decodes every definition, sorted by file name. An error means that the program was built from a broken tree.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(FS, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list embedded definitions: %w", err)
	}
	out := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		data, err := FS.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read embedded %s: %w", name, err)
		}
		def := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, def); err != nil {
			return nil, fmt.Errorf("decode embedded %s: %w", name, err)
		}
		out = append(out, def)
	}
	return out, nil
}
