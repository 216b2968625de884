// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// held is the FederationEpoch of a member.
func held(t *testing.T, hub string, epoch int) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf("{apiVersion: federation.weir.io/v1alpha1, kind: FederationEpoch, metadata: {name: weir}, spec: {hubUID: %s, epoch: %d}}", hub, epoch))
}

// made is an object that weir made, with the marks of a hub and an epoch; an empty one has none.
func made(apiVersion, kind, hub, epoch string) string {
	marks := ""
	if hub != "" {
		marks = fmt.Sprintf(", annotations: {weir.io/hub: %q, weir.io/epoch: %q}", hub, epoch)
	}
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {namespace: demo, name: echo, labels: {app.kubernetes.io/managed-by: weir}%s}}", apiVersion, kind, marks)
}

// scaler is an autoscaler with these labels, the marks of a hub and an epoch, and more of its spec.
func scaler(labels, hub, epoch, spec string) string {
	return fmt.Sprintf("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: demo, name: web, labels: {%s}, annotations: {weir.io/hub: %q, weir.io/epoch: %q}}, "+
		"spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 3%s}}", labels, hub, epoch, spec)
}

func fenced(labels, hub, epoch string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {namespace: demo, name: p, labels: {%s}, annotations: {weir.io/hub: %q, weir.io/epoch: %q}}}", labels, hub, epoch)
}

// exactly is a delete of one version of an object.
func exactly() runtime.Object {
	version := "7"
	return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}
}

func TestAMemberRefusesWhatBearsAnOlderEpochOrAnotherHub(t *testing.T) {
	rule := func(hub, epoch string) string { return made("networking.istio.io/v1", "VirtualService", hub, epoch) }
	for name, c := range map[string]struct {
		write

		want string // part of the refusal; empty: it is admitted
	}{
		"the leader makes a rule":             {write{resource: "virtualservices", object: rule("h1", "6")}, ""},
		"a newer one, before it is seen here": {write{resource: "virtualservices", object: rule("h1", "7"), old: rule("h1", "6")}, ""},
		"the leader over an older one":        {write{resource: "virtualservices", object: rule("h1", "6"), old: rule("h1", "5")}, ""},
		"an older one makes a rule":           {write{resource: "virtualservices", object: rule("h1", "5")}, "a newer leader of the hub has taken this cluster with epoch 6, and what is written bears 5"},
		"an older one changes a rule":         {write{resource: "virtualservices", object: rule("h1", "5"), old: rule("h1", "6")}, "a newer leader"},
		"one that knows of no epochs":         {write{resource: "virtualservices", object: rule("", "")}, "belongs to the hub h1, and what is written bears none"},
		"another hub":                         {write{resource: "virtualservices", object: rule("h2", "9")}, "belongs to the hub h1, and what is written bears the hub h2"},
		"an epoch that is none":               {write{resource: "virtualservices", object: rule("h1", "many")}, "bears 0"},
		"an epoch that is too long":           {write{resource: "virtualservices", object: rule("h1", strings.Repeat("9", 30))}, "bears 0"},
		"somebody else":                       {write{by: "alice", resource: "virtualservices", object: rule("", "")}, ""},
		"the leader deletes what it claimed":  {write{resource: "virtualservices", old: rule("h1", "6"), options: exactly()}, ""},
		"one that was raised over since":      {write{resource: "virtualservices", old: rule("h1", "5"), options: exactly()}, "a newer leader"},
		"whatever version it is":              {write{resource: "virtualservices", old: rule("h1", "6"), options: &metav1.DeleteOptions{}}, "deletes a version that it names"},
		"somebody else deletes":               {write{by: "alice", resource: "virtualservices", old: rule("h1", "5"), options: &metav1.DeleteOptions{}}, ""},
		"a copy of a Deployment":              {write{resource: "deployments", object: made("apps/v1", "Deployment", "h1", "5")}, "a newer leader"},
		"a Service":                           {write{resource: "services", object: made("v1", "Service", "h1", "5")}, "a newer leader"},
		"an export":                           {write{resource: "serviceexports", object: made("multicluster.x-k8s.io/v1beta1", "ServiceExport", "h1", "5")}, "a newer leader"},
		"a status of what an older one made": {write{
			resource: "serviceimports/status", object: made("multicluster.x-k8s.io/v1beta1", "ServiceImport", "h1", "5"),
			old: made("multicluster.x-k8s.io/v1beta1", "ServiceImport", "h1", "5"),
		}, "a newer leader"},
		"a fence":                     {write{resource: "pods", object: fenced("istio.io/draining: 'true'", "h1", "6"), old: fenced("", "", "")}, ""},
		"a fence of an older one":     {write{resource: "pods", object: fenced("istio.io/draining: 'true'", "h1", "5"), old: fenced("", "", "")}, "a newer leader"},
		"a fence taken off":           {write{resource: "pods", object: fenced("", "h1", "5"), old: fenced("istio.io/draining: 'true'", "h1", "6")}, "a newer leader"},
		"a generation of an older":    {write{resource: "pods", object: fenced("weir.io/fence: '3'", "h1", "5"), old: fenced("", "", "")}, "a newer leader"},
		"a kubelet":                   {write{by: "system:node:n1", resource: "pods", object: fenced("weir.io/fence: '3'", "h1", "5"), old: fenced("weir.io/fence: '3'", "h1", "5")}, ""},
		"limits are lowered":          {write{resource: "horizontalpodautoscalers", object: scaler("weir.io/limits: lowered", "h1", "6", ""), old: scaler("", "", "", "")}, ""},
		"limits, by an older one":     {write{resource: "horizontalpodautoscalers", object: scaler("weir.io/limits: lowered", "h1", "5", ""), old: scaler("", "", "", "")}, "a newer leader"},
		"limits given back by it":     {write{resource: "horizontalpodautoscalers", object: scaler("", "h1", "5", ""), old: scaler("weir.io/limits: lowered", "h1", "6", "")}, "a newer leader"},
		"an owner changes limits":     {write{by: "alice", resource: "horizontalpodautoscalers", object: scaler("weir.io/limits: lowered", "h1", "5", ""), old: scaler("weir.io/limits: lowered", "h1", "5", "")}, ""},
		"a leader takes the cluster":  {write{resource: "federationepochs", object: epoch("h1", "7"), old: epoch("h1", "6")}, ""},
		"an older one looks for this": {write{resource: "federationepochs", object: epoch("h1", "5"), old: epoch("h1", "6")}, "a newer leader"},
		"another hub takes it":        {write{resource: "federationepochs", object: epoch("h2", "7"), old: epoch("h1", "6")}, "belongs to the hub h1"},
		"a person gives it away":      {write{by: "alice", resource: "federationepochs", object: epoch("h2", "7"), old: epoch("h1", "6")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := refused(t, held(t, "h1", 6), c.write)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

// epoch is a FederationEpoch with these marks on it, whatever it says.
func epoch(hub, epoch string) string {
	return made("federation.weir.io/v1alpha1", "FederationEpoch", hub, epoch)
}

// refused is what the policies of the epoch say against a write; empty: nothing.
func refused(t *testing.T, param *unstructured.Unstructured, w write) string {
	t.Helper()
	var out strings.Builder
	for _, p := range policies(t, "weir-epoch") {
		if err := refusal(t, p, param, w); err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String()
}

func TestNothingIsWrittenBeforeAHubHasTakenTheCluster(t *testing.T) {
	rule := made("networking.istio.io/v1", "VirtualService", "h1", "1")
	if refused(t, nil, write{resource: "virtualservices", object: rule}) == "" {
		t.Error("a rule was admitted where no epoch stands")
	}
	if got := refused(t, nil, write{resource: "federationepochs", object: epoch("h1", "1")}); got != "" {
		t.Errorf("the first epoch: %s", got)
	}
	for _, r := range resources(t, agentValues) {
		if b, ok := r.object.(*admissionv1.ValidatingAdmissionPolicyBinding); ok && strings.HasPrefix(b.Name, "weir-epoch") {
			ref := b.Spec.ParamRef
			if b.Spec.PolicyName != b.Name || ref == nil || ref.Name != "weir" || *ref.ParameterNotFoundAction != admissionv1.DenyAction || b.Spec.ValidationActions[0] != admissionv1.Deny {
				t.Errorf("%s does not bind it: %+v", b.Name, b.Spec)
			}
		}
	}
}

// What an API server cannot make sense of it refuses to everybody, so that must be nothing that is not weir's.
func TestAnEpochThatIsGoneStopsNobodyElsesWrites(t *testing.T) {
	for name, w := range map[string]write{
		"a Service":    {by: "alice", resource: "services", object: "{apiVersion: v1, kind: Service, metadata: {name: a}}"},
		"a Deployment": {by: "alice", resource: "deployments", object: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {app.kubernetes.io/managed-by: Helm}}}"},
		"a pod":        {by: "alice", resource: "pods", object: fenced("app: a", "", ""), old: fenced("app: b", "", "")},
		"an autoscaler": {
			by: "alice", resource: "horizontalpodautoscalers", object: scaler("app: a", "", "", ""), old: scaler("app: b", "", "", ""),
		},
		"a new pod": {by: "alice", resource: "pods", object: fenced("weir.io/fence: '3'", "", "")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refused(t, nil, w); got != "" {
				t.Error(got)
			}
		})
	}
}

func TestTheGuardLetsTheHubChangeAnAutoscalersLimitsAndNothingElseOfIt(t *testing.T) {
	guard := policies(t, "weir-guard-autoscalers")[0]
	own := scaler("app: a", "h1", "6", "")
	lowered := "app: a, weir.io/limits: lowered"
	for name, c := range map[string]struct {
		object, old string
		want        string
	}{
		"lowered":            {scaler(lowered, "h1", "6", ", minReplicas: 1"), own, ""},
		"lowered further":    {scaler(lowered, "h1", "7", ", minReplicas: 1"), scaler(lowered, "h1", "6", ", minReplicas: 2"), ""},
		"given back":         {own, scaler(lowered, "h1", "6", ", minReplicas: 1"), ""},
		"kept beside":        {strings.Replace(scaler(lowered, "h1", "6", ""), "weir.io/hub", "weir.io/autoscaler-limits: x, weir.io/hub", 1), own, ""},
		"without the label":  {scaler("app: a", "h1", "6", ", minReplicas: 1"), own, "only while it bears the label"},
		"another label":      {scaler("app: b, weir.io/limits: lowered", "h1", "6", ""), own, "and no other"},
		"a label taken off":  {scaler("weir.io/limits: lowered", "h1", "6", ""), own, "and no other"},
		"another annotation": {strings.Replace(scaler(lowered, "h1", "6", ""), "weir.io/hub", "note: x, weir.io/hub", 1), own, "beside its own marks"},
		"another target":     {strings.Replace(scaler(lowered, "h1", "6", ""), "name: web}, max", "name: other}, max", 1), own, "nothing else of its spec"},
		"metrics":            {scaler(lowered, "h1", "6", ", metrics: [{type: Resource}]"), own, "nothing else of its spec"},
		"behavior":           {scaler(lowered, "h1", "6", ", behavior: {scaleDown: {selectPolicy: Disabled}}"), own, "nothing else of its spec"},
		"behavior, changed": {
			scaler(lowered, "h1", "6", ", behavior: {scaleDown: {selectPolicy: Disabled}}"), scaler("app: a", "h1", "6", ", behavior: {scaleDown: {selectPolicy: Max}}"), "nothing else of its spec",
		},
		"an owner": {strings.Replace(scaler(lowered, "h1", "6", ""), "name: web, labels", "name: web, ownerReferences: [{kind: A, name: a, uid: u}], labels", 1), own, "finalizers or owners"},
	} {
		t.Run(name, func(t *testing.T) {
			err := refusal(t, guard, nil, write{resource: "horizontalpodautoscalers", object: c.object, old: c.old})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
	if err := refusal(t, guard, nil, write{by: "alice", resource: "horizontalpodautoscalers", object: scaler("app: b", "", "", ", minReplicas: 2"), old: own}); err != nil {
		t.Errorf("it concerns others: %v", err)
	}
}

func TestTheGuardLetsTheHubMarkPodsAndChangeNothingElseOfThem(t *testing.T) {
	pod := func(annotations string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {" + annotations + "}}, spec: {nodeName: n}}"
	}
	guard := policies(t, "weir-guard-pods")[0]
	if err := refusal(t, guard, nil, write{resource: "pods", old: pod("a: b"), object: pod("a: b, weir.io/hub: h1, weir.io/epoch: '6'")}); err != nil {
		t.Error(err)
	}
	if err := refusal(t, guard, nil, write{resource: "pods", old: pod("a: b"), object: pod("a: c")}); err == nil || !strings.Contains(err.Error(), "and no other") {
		t.Errorf("got %v", err)
	}
}
