// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/resview/pb"
)

// TestScripts plays the files of testdata/scripts: objects as YAML in, what is made of them out. Whatever a script asks is made
// three times, from the objects as they are written, from what informers keep of them, and from those in another order,
// and must come out the same.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", playFile)
}

func playFile(t *testing.T, path string) {
	t.Helper()
	var m script
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		switch d.Cmd {
		case "member":
			m = script{settings: settings{versions: map[string]string{}, mesh: meshSettings{counts: true}}, objects: readObjects(t, d.Input)}
		case "also":
			m.objects = append(m.objects, readObjects(t, d.Input)...)
		case "mesh":
			m.settings.readMesh(d.Input)
		case "settings":
			m.set(t, d)
		default:
			return m.tell(t, d)
		}
		return ""
	})
}

// script is the member that a script has built so far.
type script struct {
	settings settings
	objects  []any
}

func (m *script) set(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "fence-admission":
			m.settings.fenceAdmission = true
		case "exports":
			m.settings.exportVersion = a.Vals[0]
		default: // POD=VERSION
			for _, o := range m.objects {
				if p, ok := o.(*corev1.Pod); ok && p.Name == a.Key {
					m.settings.versions[processOf(p)] = a.Vals[0]
				}
			}
		}
	}
}

// tell answers one question, after having asked it of every form of the member.
func (m *script) tell(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	small := make([]any, len(m.objects))
	for i, o := range m.objects {
		small[i] = kept(t, o)
	}
	other := slices.Clone(small)
	slices.Reverse(other)
	answer := m.answer(t, d, small)
	if whole := m.answer(t, d, m.objects); whole != answer && d.Cmd != "object" {
		t.Errorf("%s: informers keep too little\nof whole objects:\n%s\nof what is kept:\n%s", d.Pos, whole, answer)
	}
	if again := m.answer(t, d, other); again != answer {
		t.Errorf("%s: the order of objects shows\n%s\nin another order:\n%s", d.Pos, answer, again)
	}
	return answer
}

func (m *script) answer(t *testing.T, d *datadriven.TestData, all []any) string {
	t.Helper()
	x := newIndex(m.sorted(t, all))
	book := newRuleBook(x)
	p := newPicture(x, book, 1)
	switch d.Cmd {
	case "services":
		var out []string
		for k := range p.services {
			out = append(out, k.String())
		}
		slices.Sort(out)
		return strings.Join(out, "\n")
	case "service":
		return serviceText(t, p.services[nameIn(t, d)])
	case "rules":
		return rulesText(p.services[nameIn(t, d)].GetRules())
	case "budgets":
		var out []string
		for _, b := range p.services[nameIn(t, d)].GetBudgets() {
			raw, err := protojson.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, strings.ReplaceAll(string(raw), " ", "")) // The library puts spaces in at random.
		}
		return strings.Join(out, "\n")
	case "object":
		k := d.CmdArgs[0].Key
		for _, r := range book.wire {
			if r.GetName() == k {
				return string(r.GetObject())
			}
		}
		return "none"
	case "facts":
		return yamlOf(t, p.member)
	case "findings":
		var out []string
		for _, f := range p.member.GetFindings() {
			out = append(out, fmt.Sprintf("%s %s, %s:\n  %s.\n  Remedy: %s.", f.GetSeverity(), f.GetCheck(), f.GetSubject(), f.GetMessage(), f.GetRemedy()))
		}
		return strings.Join(out, "\n")
	case "problems":
		var out []string
		for _, q := range p.problems {
			out = append(out, fmt.Sprintf("%s/%s (%s) %s: %s", q.Namespace, q.Name, q.UID, q.Reason, q.Message))
		}
		return strings.Join(out, "\n")
	case "census":
		var out []string
		for _, q := range p.snapshot.Pods {
			out = append(out, fmt.Sprintf("%s %s %s %s restarts=%d", q.Proxy(), q.IP, q.Kind, q.Phase, q.ProxyRestarts))
		}
		return strings.Join(out, "\n")
	case "istiods":
		var out []string
		for _, i := range p.snapshot.Istiods {
			out = append(out, fmt.Sprintf("%s %s %q %s %s", i.Name, i.UID, i.Process, i.XDS, i.Debug))
		}
		return strings.Join(out, "\n")
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func nameIn(t *testing.T, d *datadriven.TestData) types.NamespacedName {
	t.Helper()
	namespace, name, ok := strings.Cut(d.CmdArgs[0].Key, "/")
	if !ok {
		t.Fatalf("%s: want NAMESPACE/NAME", d.Pos)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func serviceText(t *testing.T, s *pb.ServiceFacts) string {
	t.Helper()
	if s == nil {
		return "not global"
	}
	bare := proto.CloneOf(s)
	bare.Rules = nil
	return yamlOf(t, bare)
}

func rulesText(rules []*pb.Rule) string {
	var out []string
	for _, r := range rules {
		out = append(out, r.GetKind()+" "+r.GetNamespace()+"/"+r.GetName())
	}
	return strings.Join(out, "\n")
}

func yamlOf(t *testing.T, m proto.Message) string {
	t.Helper()
	raw, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.JSONToYAML(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// readObjects reads YAML documents. Kinds of Kubernetes itself become typed, as the informers have them.
func readObjects(t *testing.T, text string) []any {
	t.Helper()
	var out []any
	for doc := range strings.SplitSeq(text, "\n---\n") {
		u := object(t, doc)
		if u.GetUID() == "" {
			u.SetUID(types.UID("uid-" + u.GetName()))
		}
		typed, err := scheme.Scheme.New(u.GroupVersionKind())
		if err != nil {
			out = append(out, u)
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
			t.Fatalf("read %s %s: %v", u.GetKind(), u.GetName(), err)
		}
		out = append(out, typed)
	}
	return out
}

func (m *script) sorted(t *testing.T, all []any) objects {
	t.Helper()
	o := objects{istioNamespace: "istio-system", settings: m.settings}
	for _, a := range all {
		switch a := a.(type) {
		case *corev1.Service:
			o.services = append(o.services, a)
		case *corev1.Pod:
			o.pods = append(o.pods, a)
		case *corev1.Namespace:
			o.namespaces = append(o.namespaces, a)
		case *appsv1.ReplicaSet:
			o.replicaSets = append(o.replicaSets, a)
		case *appsv1.Deployment:
			o.deployments = append(o.deployments, a)
		case *appsv1.StatefulSet:
			o.statefulSets = append(o.statefulSets, a)
		case *appsv1.DaemonSet:
			o.daemonSets = append(o.daemonSets, a)
		case *policyv1.PodDisruptionBudget:
			o.budgets = append(o.budgets, a)
		case *unstructured.Unstructured:
			resource := strings.ToLower(a.GetKind()) + "s"
			i := slices.IndexFunc(optional, func(k kind) bool { return k.resource == resource && k.group == a.GroupVersionKind().Group })
			if i < 0 {
				t.Fatalf("%s %s is of no kind that is read", a.GetKind(), a.GetName())
			}
			to := optional[i].into(&o)
			*to = append(*to, a)
		default:
			t.Fatalf("%T is of no kind that is read", a)
		}
	}
	return o
}
