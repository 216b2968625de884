// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"istio.io/istio/pilot/pkg/config/kube/crd"
	"istio.io/istio/pkg/config/schema/collections"
)

// validate reads Istio objects as YAML documents and holds each against the rules that Istio's admission webhook
// uses. It prints a line for each object; the exit code is 0 when all are valid, 1 when one is not and 2 when the
// input is no list of Istio objects.
func validate(in io.Reader, out, errOut io.Writer) int {
	data, err := io.ReadAll(in)
	if err != nil {
		fmt.Fprintf(errOut, "istio-validate: read: %v\n", err)
		return 2
	}
	configs, others, err := crd.ParseInputs(string(data))
	if err != nil {
		fmt.Fprintf(errOut, "istio-validate: %v\n", err)
		return 2
	}
	code := 0
	for _, o := range others {
		fmt.Fprintf(out, "%s/%s: not an Istio kind\n", o.Kind, o.Name)
		code = 2
	}
	for _, c := range configs {
		name := c.GroupVersionKind.Kind + " " + c.Namespace + "/" + c.Name
		schema, ok := collections.Pilot.FindByGroupVersionKind(c.GroupVersionKind)
		if !ok {
			fmt.Fprintf(out, "%s: unknown to Istio\n", name)
			code = 2
			continue
		}
		warning, err := schema.ValidateConfig(c)
		switch {
		case err != nil:
			fmt.Fprintf(out, "%s: invalid: %v\n", name, err)
			code = max(code, 1)
		case warning != nil:
			fmt.Fprintf(out, "%s: valid, with a warning: %v\n", name, warning)
		default:
			fmt.Fprintf(out, "%s: valid\n", name)
		}
	}
	return code
}
