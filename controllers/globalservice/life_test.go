// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/resview/pb"
)

// halfDrained is a fleet in the middle of a drain: c2 gets nothing any more and all of its pods are fenced.
func halfDrained(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), facts(3)})
	w.look()
	w.look()
	w.plan(split(4, map[string]int32{"c1": 500, "c2": 0, "c3": 500}, "c2"))
	w.set("c2", facts(3, fenced(1)))
	w.prove("c1", "c2", "c3")
	w.look()
	w.writes()
	return w
}

// fenced puts the fence of a generation on every pod.
func fenced(generation int64) func(*pb.ServiceFacts) {
	return func(f *pb.ServiceFacts) {
		for _, p := range f.Pods {
			p.Fenced, p.FenceGeneration = true, generation
		}
	}
}

// told lets each agent report the rules that stand in its member, as it does on a real one.
func (w *world) told(change map[string]func(*pb.ServiceFacts)) {
	w.Helper()
	for _, name := range []string{"c1", "c2", "c3"} {
		f := facts(3)
		if c := change[name]; c != nil {
			c(f)
		}
		for _, kind := range []string{"VirtualService", "DestinationRule"} {
			if u := w.stands(name, kind); u != nil {
				raw, err := u.MarshalJSON()
				if err != nil {
					w.Fatal(err)
				}
				ruled(string(raw))(f)
			}
		}
		w.set(name, f)
	}
}

func percentIn(t *testing.T, w *world, name string) map[string]int32 {
	t.Helper()
	u := w.stands(name, "VirtualService")
	if u == nil {
		t.Fatalf("%s: no route stands", name)
	}
	rule, err := istio.ParseRule(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := istio.ReadStanding(rule)
	return got.Percent
}

func TestAServiceThatIsDeletedByHandInMidDrainKeepsItsRulesAndFences(t *testing.T) {
	w := halfDrained(t)
	if err := w.hub.Delete(t.Context(), w.service()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.ahead += time.Minute // long enough for every object to be read again
		w.r.Config.SightLost = time.Hour
		w.look()
	}
	gs := w.service()
	if gs == nil || gs.DeletionTimestamp.IsZero() {
		t.Fatalf("it is gone, or nobody deleted it: %+v", gs)
	}
	if writes := w.ruleWrites(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
	if got := percentIn(t, w, "c1"); got[istio.SubsetName("c2")] != 0 || got[istio.SubsetName("c1")] != 50 {
		t.Errorf("the split is %v", got)
	}
	reason, message := ready(gs)
	if reason != "True DeletionHeld" || !strings.Contains(message, "in c1, c2, c3") {
		t.Errorf("got %s: %s", reason, message)
	}
	gs.Spec = split(5, map[string]int32{"c1": 400, "c2": 200, "c3": 400})
	if err := w.hub.Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	w.look()
	if got := percentIn(t, w, "c3"); got[istio.SubsetName("c2")] != 20 {
		t.Errorf("its plan is carried out no more: %v", got)
	}
}

func TestADeletedServiceGoesInOrderWhenNobodyHasItAnyMore(t *testing.T) {
	w := steered(t)
	if err := w.hub.Delete(t.Context(), w.service()); err != nil {
		t.Fatal(err)
	}
	w.remove("c1")
	w.remove("c2")
	if w.look() == nil || w.stands("c1", "VirtualService") != nil || w.stands("c1", "DestinationRule") == nil {
		t.Fatal("the routes go first")
	}
	w.ahead += releaseHold + time.Second
	if gs := w.look(); gs != nil || w.stands("c1", "DestinationRule") != nil {
		t.Errorf("it is held for ever: %+v", gs)
	}
}

func TestALostRecordIsMadeAnewFromWhatStands(t *testing.T) {
	w := halfDrained(t)
	w.told(map[string]func(*pb.ServiceFacts){"c2": fenced(1)})
	lose(t, w)
	w.look() // makes it anew
	gs := w.look()
	want := v1alpha1.GlobalServiceSpec{
		Generation: 4, FenceGeneration: 1, Phase: v1alpha1.RulesWeights,
		Clusters: []v1alpha1.GlobalServiceCluster{
			{Name: "c1", Weight: 500, NewPods: v1alpha1.PodsOpen},
			{Name: "c2", Weight: 0, NewPods: v1alpha1.PodsFenced, FencedPods: 3, DNS: v1alpha1.DNSWithdrawn},
			{Name: "c3", Weight: 500, NewPods: v1alpha1.PodsOpen},
		},
	}
	if d := cmp.Diff(want, gs.Spec); d != "" {
		t.Error(d)
	}
	if writes := w.ruleWrites(); len(writes) > 0 {
		t.Errorf("the drained cluster was given something back: %v", writes)
	}
	for _, c := range gs.Status.Clusters {
		if c.Weight.ProvenLow != 0 || c.Weight.ProvenHigh != 1000 {
			t.Errorf("%s: what proxies hold is not known, and is said to be %+v", c.Name, c.Weight)
		}
	}
	if !controllerutil.ContainsFinalizer(gs, Finalizer) {
		t.Error("it can be lost again")
	}
	w.prove("c1", "c2", "c3")
	if c := w.look().Status.Clusters[1]; c.Weight.ProvenHigh != 0 || c.Fenced != 3 {
		t.Errorf("after the proof c2 is %+v", c)
	}
}

// lose takes the record away, as somebody does who takes the finalizer off, or an old backup.
func lose(t *testing.T, w *world) {
	t.Helper()
	gs := w.service()
	gs.Finalizers = nil
	if err := w.hub.Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	if err := w.hub.Delete(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	w.r.done = map[string]doneOrder{}
}

func TestALostRecordIsNotMadeAnewWhileAMemberIsNotHeard(t *testing.T) {
	w := halfDrained(t)
	w.told(map[string]func(*pb.ServiceFacts){"c2": fenced(1)})
	lose(t, w)
	w.link.Leave(t, "c2", w.members["c2"].agent)
	if gs := w.look(); gs != nil {
		t.Errorf("nobody knows what c2 holds, and the record says %+v", gs.Spec)
	}
	if writes := w.writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestARecordThatIsMadeAnewCountsWhoeverTheRoutesName(t *testing.T) {
	at := func(name string, m memberView) memberView {
		m.name, m.mesh, m.whole, m.seen = name, true, true, true
		return m
	}
	standing := halfDrained(t)
	standing.told(nil)
	with := func(name string) *pb.ServiceFacts { return standing.link.Server.Snapshot(name).Services[key].Value }
	away := at("c2", memberOf("c2", nil))
	away.away, away.seen, away.whole = true, false, false
	in := &input{key: key, members: []memberView{at("c1", viewed("c1", with("c1"))), away}} // c3 has left
	plan, found := adopted(in)
	if !found {
		t.Fatal("nothing stands")
	}
	var names []string
	for _, c := range plan.Clusters {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"c1", "c2", "c3"}) || plan.Clusters[2].Weight != 500 {
		t.Errorf("got %+v", plan.Clusters)
	}
	if c := plan.Clusters[1]; c.NewPods != v1alpha1.PodsFenced || c.FencedPods != allPods {
		t.Errorf("c2 was drained to its end and is off: %+v", c)
	}
	in.service = &v1alpha1.GlobalService{Spec: plan}
	in.addLeft()
	if got := in.holders(); !slices.Equal(got, []string{"c1", "c2", "c3"}) {
		t.Errorf("counted are %v", got)
	}
}

func TestNothingIsAdoptedWhereNothingOfWeirsStands(t *testing.T) {
	users := facts(2, ruled(foreignRule), func(f *pb.ServiceFacts) { f.Pods[0].Fenced = true })
	in := &input{key: key, members: []memberView{viewed("c1", users), viewed("c2", facts(1))}}
	if plan, found := adopted(in); found {
		t.Errorf("got %+v", plan)
	}
}

func TestWeightsThatSomebodyWroteAreReadAsAWhole(t *testing.T) {
	in := &input{members: []memberView{memberOf("c1", nil), memberOf("c2", nil)}}
	got := permille(in, map[string]int32{istio.SubsetName("c1"): 1, istio.SubsetName("c2"): 2})
	if d := cmp.Diff(map[string]int32{"c1": 333, "c2": 667}, got); d != "" {
		t.Error(d)
	}
}

func TestAServiceOfAnOlderHubIsGuardedToo(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3)},
		&v1alpha1.GlobalService{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID("old")}})
	if gs := w.look(); !controllerutil.ContainsFinalizer(gs, Finalizer) {
		t.Errorf("finalizers %v", gs.Finalizers)
	}
}

// A drained cluster that was still called loses its agent: clients there serve on by older weights, and another cluster
// must not be emptied before they have let go of it.
func TestNoProofIsCompleteWithoutAClusterThatIsNotKnownToBeOff(t *testing.T) {
	safe, called := true, false
	for name, c := range map[string]struct {
		safe   *bool
		reason string
	}{
		"still called when it fell silent": {&called, v1alpha1.ReasonContactLost},
		"only its agent is silent":         {&safe, v1alpha1.ReasonAgentSilent},
	} {
		t.Run(name, func(t *testing.T) {
			drain := &v1alpha1.ClusterDrain{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterDrainSpec{ClusterName: "c2"}}
			drain.Status.SafeToPowerOff = c.safe
			drain.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDrained, Status: metav1.ConditionTrue, Reason: "X", LastTransitionTime: metav1.Now()}}
			w := newWorld(t, []*pb.ServiceFacts{facts(3), facts(3), facts(3)}, drain)
			w.look()
			w.look()
			w.plan(split(2, map[string]int32{"c1": 500, "c2": 0, "c3": 500}, "c2"))
			w.link.Leave(t, "c2", w.members["c2"].agent)
			w.readiness("c2", c.reason)
			w.plan(split(3, map[string]int32{"c1": 1000, "c2": 0, "c3": 0}, "c2"))
			w.prove("c1", "c3")
			gs := w.look()
			if p := gs.Status.Weights; p.Level != v1alpha1.ProofNone || !strings.Contains(strings.Join(p.Missing, ";"), "c2/agent") {
				t.Errorf("proof %+v", p)
			}
			if c := gs.Status.Clusters[2]; c.Weight.ProvenHigh == 0 {
				t.Errorf("c3 counts as let go of: %+v", c.Weight)
			}
		})
	}
}
