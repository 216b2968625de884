// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// validate runs Istio's own validator and returns what it says of each object.
func validate(t *testing.T, yaml []byte) (lines []string, valid bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), world.Fleet().Bin("istio-validate"))
	cmd.Stdin = bytes.NewReader(yaml)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, err == nil
}

func TestIstioTakesEveryRuleThatWeirRenders(t *testing.T) {
	files, err := filepath.Glob("../../../mesh/istio/testdata/rendered/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rendered rules: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines, valid := validate(t, text)
			if !valid || len(lines) == 0 {
				t.Errorf("refused, or empty: %q", lines)
			}
			for _, line := range lines {
				if !strings.HasSuffix(line, ": valid") {
					t.Error(line)
				}
			}
		})
	}
}

func TestIstioRefusesARuleWhoseWeightsAreAllZero(t *testing.T) {
	lines, valid := validate(t, []byte(`
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: nowhere, namespace: demo}
spec:
  hosts: [echo.demo.svc.cluster.local]
  http:
  - route:
    - {destination: {host: echo.demo.svc.cluster.local, subset: weir-c1}, weight: 0}
    - {destination: {host: echo.demo.svc.cluster.local, subset: weir-c2}, weight: 0}
`))
	if valid || len(lines) != 1 || !strings.Contains(lines[0], "invalid") {
		t.Errorf("taken: %q", lines)
	}
}
