// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestTheChartTakesTheValuesOfTheHub(t *testing.T) {
	dir, err := chartDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(dir) != "weir" {
		t.Fatalf("chart in %s", dir)
	}
	chart, err := loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	options := common.ReleaseOptions{Name: "weir", Namespace: Namespace, Revision: 1, IsInstall: true}
	// The values' schema is checked here.
	all, err := util.ToRenderValues(chart, hubValues("10.0.0.1"), options, common.DefaultCapabilities.Copy())
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, file := range files {
		text += file
	}
	for _, want := range []string{"image: weir.test/weir:1", "imagePullPolicy: Never", "nodePort: 30443", "10.0.0.1:30443"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is in no manifest", want)
		}
	}
}

func TestAServiceIsHeldWhenItIsReadyAndItsWeightsAreProven(t *testing.T) {
	ready := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: "ForeignRule", Message: "a rule of yours"}}
	}
	for name, c := range map[string]struct {
		status v1alpha1.GlobalServiceStatus
		want   string
	}{
		"nothing said": {v1alpha1.GlobalServiceStatus{}, "it has no condition Ready"},
		"refused":      {v1alpha1.GlobalServiceStatus{Conditions: ready(metav1.ConditionFalse)}, "ForeignRule: a rule of yours"},
		"unproven": {
			v1alpha1.GlobalServiceStatus{Conditions: ready(metav1.ConditionTrue), Weights: v1alpha1.ProofStatus{Missing: []string{"x.demo"}}},
			"its weights are not proven: [x.demo]",
		},
		"held": {
			v1alpha1.GlobalServiceStatus{Conditions: ready(metav1.ConditionTrue), Weights: v1alpha1.ProofStatus{Level: v1alpha1.ProofProven}}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Held(v1alpha1.GlobalService{Status: c.status})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
