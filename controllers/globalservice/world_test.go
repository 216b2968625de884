// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/pb"
)

// world is a hub with its reconciler, and members with an API server and an agent each.
type world struct {
	*testing.T

	hub      client.WithWatch
	r        *Reconciler
	link     *fleettest.Link
	recorder *events.FakeRecorder
	ahead    time.Duration // of the clock
	members  map[string]*site
	fail     error // of the next write of a status
}

type site struct {
	*fleettest.APIServer

	agent *fleettest.Agent
}

// newWorld starts members c1, c2… with the facts of the service in each; nil: it does not stand there.
func newWorld(t *testing.T, facts []*pb.ServiceFacts, objects ...client.Object) *world {
	t.Helper()
	w := &world{T: t, link: fleettest.NewLink(t), recorder: events.NewFakeRecorder(100), members: map[string]*site{}}
	for i := range facts {
		name := fmt.Sprintf("c%d", i+1)
		server := fleettest.NewAPIServer(t)
		w.members[name] = &site{APIServer: server}
		objects = append(
			objects,
			&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: v1alpha1.ClusterSpec{
				APIEndpoint: server.URL, CABundle: server.CA, CredentialsSecretRef: &v1alpha1.SecretReference{Name: name},
			}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: name}, Data: map[string][]byte{member.KubeconfigKey: server.Kubeconfig("t")}},
		)
	}
	w.hub = fleettest.Hub(t, interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := w.fail; err != nil {
				w.fail = nil
				return err
			}
			return c.SubResource(sub).Apply(ctx, o, opts...)
		},
	}, objects...)
	w.r = &Reconciler{
		Client: w.hub, Door: member.NewDoor(w.hub, "weir-system", member.NewTerm("hub", &fleettest.Epochs{})), Members: w.link.Server, Recorder: w.recorder,
		Now:    func() time.Time { return time.Now().Add(w.ahead) },
		Config: Config{SystemNamespace: "istio-system", BudgetClusters: 2000, BudgetEndpoints: 20000, SightLost: 30 * time.Second},
	}
	w.r.targets, w.r.done = map[types.NamespacedName]targetSet{}, map[string]doneOrder{}
	w.r.looked = map[types.NamespacedName]bool{}
	for i, f := range facts {
		name := fmt.Sprintf("c%d", i+1)
		var services []*pb.ServiceFacts
		if f != nil {
			services = append(services, f)
		}
		w.members[name].agent = w.link.Join(t, name, mesh(name), services...)
	}
	return w
}

func mesh(name string) *pb.MemberFacts {
	return &pb.MemberFacts{
		Istiods: []*pb.Istiod{{Name: "istiod-1"}}, IstioVersion: "1.31.0", IstioClusterId: name, Network: "n1", MeshRootNamespace: "istio-system",
	}
}

// facts is the annotated Service with n ready pods.
func facts(n int, change ...func(*pb.ServiceFacts)) *pb.ServiceFacts {
	f := &pb.ServiceFacts{
		Ref: &pb.ServiceRef{Namespace: "demo", Name: "echo"}, Uid: "u", Type: "ClusterIP", ClusterIp: "10.0.0.1",
		Ports: []*pb.Port{{Name: "http", Port: 80, Protocol: "TCP"}}, Selector: map[string]string{"app": "echo"},
		Annotations: map[string]string{v1alpha1.AnnotationGlobal: "true"},
		Workloads:   []*pb.WorkloadFacts{{Kind: "Deployment", Name: "echo", Replicas: int32(n), Ready: int32(n)}},
	}
	for i := range n {
		f.Pods = append(f.Pods, &pb.Pod{
			Name: fmt.Sprintf("echo-%d", i), Uid: fmt.Sprintf("uid-%d", i), Ip: fmt.Sprintf("10.1.0.%d", i+1), Ready: true, Meshed: true,
			Load: &pb.Load{Measured: true, QuietScrapes: 2},
		})
	}
	for _, c := range change {
		c(f)
	}
	return f
}

func annotated(name, value string) func(*pb.ServiceFacts) {
	return func(f *pb.ServiceFacts) { f.Annotations[name] = value }
}

// ruled adds a rule that stands in the member.
func ruled(object string) func(*pb.ServiceFacts) {
	var u unstructured.Unstructured
	if err := json.Unmarshal([]byte(object), &u.Object); err != nil {
		panic(err)
	}
	return func(f *pb.ServiceFacts) {
		f.Rules = append(f.Rules, &pb.Rule{ApiVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), Object: []byte(object)})
	}
}

// look reconciles once and returns the service; nil where there is none.
func (w *world) look() *v1alpha1.GlobalService {
	w.Helper()
	if _, err := w.r.Reconcile(w.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		w.Fatal(err)
	}
	return w.service()
}

func (w *world) service() *v1alpha1.GlobalService {
	w.Helper()
	var gs v1alpha1.GlobalService
	err := w.hub.Get(w.Context(), key, &gs)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return &gs
}

// plan writes a plan, as its controller does, and looks.
func (w *world) plan(spec v1alpha1.GlobalServiceSpec) *v1alpha1.GlobalService {
	w.Helper()
	gs := w.service()
	gs.Spec = spec
	if err := w.hub.Update(w.Context(), gs); err != nil {
		w.Fatal(err)
	}
	return w.look()
}

// split is a plan in phase Weights; fence names clusters whose pods are fenced whole.
func split(generation int64, weights map[string]int32, fence ...string) v1alpha1.GlobalServiceSpec {
	spec := v1alpha1.GlobalServiceSpec{Generation: generation, Phase: v1alpha1.RulesWeights}
	for _, name := range []string{"c1", "c2", "c3"} {
		weight, there := weights[name]
		if !there {
			continue
		}
		c := v1alpha1.GlobalServiceCluster{Name: name, Weight: weight, NewPods: v1alpha1.PodsOpen}
		for _, f := range fence {
			if f == name {
				c.NewPods, c.FencedPods = v1alpha1.PodsFenced, 100
				spec.FenceGeneration = 1
			}
		}
		spec.Clusters = append(spec.Clusters, c)
	}
	return spec
}

// set changes what an agent reports, and waits until the hub has heard it.
func (w *world) set(name string, f *pb.ServiceFacts) {
	w.Helper()
	f.ResourceVersion = fmt.Sprint(time.Now().UnixNano())
	if err := w.members[name].agent.SetService(f); err != nil {
		w.Fatal(err)
	}
	w.link.Await(w.T, name+" has told", func() bool {
		return w.link.Server.Snapshot(name).Services[key].Value.GetResourceVersion() == f.GetResourceVersion()
	})
}

// readiness writes down why a member is not Ready, as the Cluster's controller does.
func (w *world) readiness(name, reason string) {
	w.Helper()
	var c v1alpha1.Cluster
	if err := w.hub.Get(w.Context(), types.NamespacedName{Name: name}, &c); err != nil {
		w.Fatal(err)
	}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: reason})
	if err := w.hub.Status().Update(w.Context(), &c); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.Helper()
	w.members[name].agent.RemoveService(key)
	w.link.Await(w.T, name+" has told", func() bool {
		_, there := w.link.Server.Snapshot(name).Services[key]
		return !there
	})
}

// prove lets the agents answer what is asked of them now.
func (w *world) prove(names ...string) {
	w.Helper()
	for _, name := range names {
		w.link.Await(w.T, name+" was asked", func() bool { return len(w.members[name].agent.Targets()) > 0 })
		w.link.Await(w.T, name+" has proven", func() bool {
			w.members[name].agent.Prove(w.T)
			_, ok := w.link.Server.Snapshot(name).Proofs[key]
			return ok
		})
	}
}

// stands returns an object of a member; nil where there is none.
func (w *world) stands(name, kind string) *unstructured.Unstructured {
	w.Helper()
	gvk := map[string]schema.GroupVersionKind{
		"VirtualService":                 {Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"},
		"DestinationRule":                {Group: "networking.istio.io", Version: "v1", Kind: "DestinationRule"},
		"MutatingAdmissionPolicy":        {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"},
		"MutatingAdmissionPolicyBinding": {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"},
		"Service":                        {Version: "v1", Kind: "Service"},
		"ServiceExport":                  {Group: "multicluster.x-k8s.io", Version: "v1beta1", Kind: "ServiceExport"},
		"ServiceImport":                  {Group: "multicluster.x-k8s.io", Version: "v1beta1", Kind: "ServiceImport"},
	}[kind]
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(kind + "List"))
	if err := w.members[name].Store.List(w.Context(), list); err != nil && !meta.IsNoMatchError(err) && !runtime.IsNotRegisteredError(err) {
		w.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// writes are what the members' API servers were told since the last call.
func (w *world) writes() []string {
	var out []string
	for _, name := range []string{"c1", "c2", "c3"} {
		if m := w.members[name]; m != nil {
			for _, s := range m.Writes() {
				out = append(out, name+" "+s)
			}
		}
	}
	return out
}

// ruleWrites leaves out what no traffic hangs on.
func (w *world) ruleWrites() []string {
	var out []string
	for _, s := range w.writes() {
		if !strings.Contains(s, "/multicluster.x-k8s.io/") && !strings.Contains(s, "/services/") {
			out = append(out, s)
		}
	}
	return out
}

func ready(gs *v1alpha1.GlobalService) (reason, message string) {
	c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + " " + c.Reason, c.Message
}
