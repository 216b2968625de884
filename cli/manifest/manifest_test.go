// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-io/weir/sched/simulate"
)

const view = `apiVersion: federation.weir.io/v1alpha1
kind: ClusterView
metadata:
  name: c1
spec: {}
`

const workload = `apiVersion: federation.weir.io/v1alpha1
kind: FederatedDeployment
metadata: {name: a}
spec:
  template: {spec: {replicas: 2, template: {spec: {containers: [{name: a, image: a}]}}}}
  placement: {}
  overrides: [{clusterName: c1, clusterOverrides: [{path: /spec/replicas, value: 1}]}]
`

func TestKindsThatAreNotUsedAreCounted(t *testing.T) {
	other := func(version, kind string) string {
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: x}\n---\n", version, kind)
	}
	text := other("v1", "Namespace") + other("v1", "Namespace") + other("apps/v1", "Deployment") + "# nothing\n---\n\n---\n" +
		other("federation.weir.io/v1alpha1", "ClusterDrain") + other("elsewhere.io/v9", "Cluster")
	set, err := Read(t.Context(), []File{{"a.yaml", []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Passed{{"Cluster", 1}, {"ClusterDrain", 1}, {"Deployment", 1}, {"Namespace", 2}}, set.Passed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAKindThatWeirDoesNotHaveIsNotPassedOver(t *testing.T) {
	text := "apiVersion: federation.weir.io/v1alpha1\nkind: FederatedDeploymnt\nmetadata: {name: x}\n"
	_, err := Read(t.Context(), []File{{"a.yaml", []byte(text)}})
	const want = `a.yaml:2: kind: "FederatedDeploymnt" is no kind of federation.weir.io: it has Cluster, ClusterDrain, ClusterView, FederatedDeployment, ` +
		`FederatedService, FederationEpoch, GlobalService, ReplicaSchedulingPreference, ResourceBinding, TrafficPolicy, Work`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestWhatBelongsToNothingIsNoted(t *testing.T) {
	text := view + `---
apiVersion: federation.weir.io/v1alpha1
kind: ReplicaSchedulingPreference
metadata: {name: p}
spec: {targetRef: {apiVersion: federation.weir.io/v1alpha1, kind: FederatedDeployment, name: web}}
---
apiVersion: federation.weir.io/v1alpha1
kind: ResourceBinding
metadata: {name: b, namespace: shop}
spec: {resource: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}}
`
	set, err := Read(t.Context(), []File{{"a.yaml", []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ClusterView c1 is the view of no Cluster in these files: not used",
		"ReplicaSchedulingPreference default/p is for FederatedDeployment web, which is not in these files: not used",
		"ResourceBinding shop/b is of no FederatedDeployment in these files: not used",
	}
	if diff := cmp.Diff(want, set.Notes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAFaultNamesTheLineWhereverItStands(t *testing.T) {
	fault := strings.Replace(view, "spec: {}", "spec:\n  nodes:\n  - name: a\n  - name: b\n    count: many", 1)
	indented := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"in the first document":   {fault, 9},
		"after a comment":         {"# a comment\n" + fault, 10},
		"in the second":           {"a: 1\napiVersion: v1\nkind: x\n---\n" + fault, 13},
		"after a comment's line":  {"---   # a comment\n" + fault, 10},
		"with returns":            {strings.ReplaceAll("---\n"+fault, "\n", "\r\n"), 10},
		"in a list":               {"apiVersion: v1\nkind: List\nitems:\n-\n" + indented(view) + "-\n" + indented(strings.Replace(fault, "c1", "c2", 1)), 19},
		"in JSON":                 {"{\"apiVersion\": \"federation.weir.io/v1alpha1\", \"kind\": \"ClusterView\",\n\"metadata\": {\"name\": \"c1\"}, \"spec\": {\n\"nodes\": [{\"name\": \"a\"},\n{\"name\": \"b\", \"count\": \"many\"}]}}", 4},
		"behind an alias":         {strings.Replace(view, "spec: {}", "spec:\n  nodes: &n\n  - name: a\n    count: many\nstatus: *n", 1), 8},
		"where it should be":      {strings.Replace(view, "spec: {}", "spec:\n  nodes:\n  - count: 1\n", 1), 7},
		"behind a key with a dot": {strings.Replace(view, "spec: {}", "spec:\n  nodes:\n  - name: a\n    allocatable:\n      cpu: 1\n      a.b/c: x", 1), 10},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(t.Context(), []File{{"a.yaml", []byte(c.text)}})
			var faults FaultErrors
			if !errors.As(err, &faults) {
				t.Fatalf("%v", err)
			}
			if faults[0].Line != c.line || faults[0].File != "a.yaml" || !strings.HasPrefix(err.Error(), fmt.Sprintf("a.yaml:%d: ", c.line)) {
				t.Errorf("want line %d: %v", c.line, err)
			}
		})
	}
}

func TestOnlyTheFirstTwentyFaultsAreTold(t *testing.T) {
	_, err := Read(t.Context(), []File{{"a.yaml", []byte(strings.Repeat("kind: x\n---\n", 30))}})
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || lines[20] != "and 10 more" || lines[19] != "a.yaml:39: has no apiVersion or no kind" {
		t.Errorf("%d lines, %q", len(lines), lines[len(lines)-1])
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	_, err := Read(t.Context(), []File{{"a.yaml", make([]byte, MaxSize+1)}, {"b.yaml", []byte("kind: x")}})
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:1: has more than 67108864 bytes") || !strings.Contains(err.Error(), "\nb.yaml:1: ") {
		t.Errorf("%v", err)
	}
}

// Whatever a file holds, it is answered, or refused with lines that it has.
func FuzzRead(f *testing.F) {
	f.Add([]byte(view))
	f.Add([]byte(workload))
	f.Add([]byte("--- a\n...\n--- |\n ---\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("0: \n0"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [1, {}, null]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := Read(t.Context(), []File{{"a.yaml", text}})
		var faults FaultErrors
		switch {
		case errors.As(err, &faults):
			for _, fault := range faults {
				if fault.Line < 1 || fault.Line > strings.Count(string(text), "\n")+1 || fault.Message == "" {
					t.Errorf("%+v", fault)
				}
			}
			return
		case err != nil:
			t.Fatal(err)
		}
		answer, err := simulate.Run(&set.Question)
		if err != nil {
			t.Fatalf("what was read cannot be answered: %v", err)
		}
		for _, b := range answer.Bindings {
			sum := b.Unplaced
			for _, n := range b.Replicas {
				sum += n
			}
			if sum != b.Wanted || b.Unplaced > 0 && len(b.Reasons) == 0 {
				t.Errorf("%+v", b)
			}
		}
	})
}
