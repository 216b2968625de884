// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

// leader is another process of the hub, or of another hub, with a door of its own to the bench's member.
func (b *bench) leader(hubUID string, record Record) *bench {
	other := *b
	other.door = NewDoor(b.hub, "weir-system", NewTerm(hubUID, record))
	other.door.now = func() time.Time { return other.now }
	return &other
}

// twoLeaders are an older and a newer leader of one hub.
func twoLeaders(t *testing.T) (older, newer *bench) {
	t.Helper()
	b := newBench(t)
	record := &fleettest.Epochs{}
	return b.leader("hub", record), b.leader("hub", record)
}

func (b *bench) held(t *testing.T) string {
	t.Helper()
	e := b.server.Epoch(t.Context())
	return fmt.Sprintf("%s/%d", e.HubUID, e.Epoch)
}

// holds puts an epoch into the member, as a hub did before.
func (b *bench) holds(t *testing.T, hubUID string, epoch int64) {
	t.Helper()
	e := &v1alpha1.FederationEpoch{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FederationEpochName}, Spec: v1alpha1.FederationEpochSpec{HubUID: hubUID, Epoch: epoch},
	}
	if err := b.server.Store.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// give changes what the member holds: as a leader does that marks it with its epoch, or as a person, with another mark.
func (b *bench) give(t *testing.T, hubUID string, epoch, mark int64) {
	t.Helper()
	var e v1alpha1.FederationEpoch
	if err := b.server.Store.Get(t.Context(), client.ObjectKey{Name: v1alpha1.FederationEpochName}, &e); err != nil {
		t.Fatal(err)
	}
	e.Spec = v1alpha1.FederationEpochSpec{HubUID: hubUID, Epoch: epoch}
	e.Annotations = marksOf(nil, hubUID, mark)
	if err := b.server.Store.Update(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
}

// wantHeld fails unless err says for this reason that nothing may be written.
func wantHeld(t *testing.T, err error, reason string, says ...string) {
	t.Helper()
	held, ok := errors.AsType[*HoldError](err)
	if !ok || held.Reason != reason || !errors.Is(err, ErrNotHeld) {
		t.Fatalf("got %v, want %s", err, reason)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestTheEpochIsTakenBeforeAnythingElseIsWrittenAndStandsOnWhatIs(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	if writes := b.server.Writes(); len(writes) > 0 || b.held(t) != "hub/1" {
		t.Errorf("it is %s, and there was written %v", b.held(t), writes)
	}
	if wrote, err := m.Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); !wrote || err != nil {
		t.Fatal(err)
	}
	if a := b.stored(t).GetAnnotations(); a[v1alpha1.AnnotationHub] != "hub" || a[v1alpha1.AnnotationEpoch] != "1" {
		t.Errorf("it bears %v", a)
	}
	asked := b.server.EpochRequests()
	if n := len(asked); n != 3 || !strings.Contains(asked[2], "dryRun=All") {
		t.Errorf("asked %v", asked)
	}
	b.open(t)
	if again := b.server.EpochRequests(); len(again) > 0 {
		t.Errorf("it is held, and was asked for: %v", again)
	}
}

func TestOfTwoLeadersTheOlderIsRefusedAndOnlyReads(t *testing.T) {
	older, newer := twoLeaders(t)
	was := older.open(t)
	if _, err := was.Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	newer.open(t)
	if got := older.held(t); got != "hub/2" {
		t.Fatalf("the newer holds %s", got)
	}
	for _, write := range []struct {
		what string
		do   func() error
	}{
		{"a label", func() error { return was.LabelPod(t.Context(), manager, "demo", "a", "u", "weir.io/fence", "1", nil) }},
		{"an apply", func() error {
			_, err := was.Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["other"]}`))
			return err
		}},
		{"a delete", func() error { _, err := was.Delete(t.Context(), ruleRef); return err }},
		{"a copy", func() error { return older.overwriteBy(t, was) }},
		{"to open it", func() error { _, err := older.door.Open(t.Context(), older.cluster); return err }},
		{"to confirm it", func() error { return older.door.Confirm(t.Context(), older.cluster) }},
		{"a delete, once more", func() error { _, err := was.Delete(t.Context(), ruleRef); return err }},
	} {
		if err := write.do(); err == nil {
			t.Errorf("%s of the older leader was done", write.what)
		}
	}
	_, err := older.door.Open(t.Context(), older.cluster)
	wantHeld(t, err, v1alpha1.ReasonNewerLeader, "epoch 2", "only reads", "started anew")
	if live, err := was.Read(t.Context(), ruleRef); err != nil || valueAt(live, "spec", "hosts").([]any)[0] != "echo" {
		t.Errorf("it reads %v, %v", live, err)
	}
	if got := older.held(t); got != "hub/2" {
		t.Errorf("the older leader took it back: %s", got)
	}
}

func (b *bench) overwriteBy(t *testing.T, m *Member) error {
	t.Helper()
	_, err := m.Overwrite(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["copy"]}`), b.stored(t), "h")
	return err
}

func TestALeaderThatIsKilledBetweenRaisingAndWritingLeavesNothingThatTheNextCannotTake(t *testing.T) {
	older, newer := twoLeaders(t)
	older.open(t) // and it is killed here.
	if _, err := newer.open(t).Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	if a := newer.stored(t).GetAnnotations(); a[v1alpha1.AnnotationEpoch] != "2" {
		t.Errorf("it bears %v", a)
	}
	// What the first one had under way when it was killed comes late, and is refused.
	late := rule(t, `{"hosts": ["late"]}`)
	late.SetLabels(map[string]string{LabelManaged: LabelManagedValue})
	late.SetAnnotations(marksOf(nil, "hub", 1))
	m, err := older.door.Reach(t.Context(), older.cluster)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.resource(ruleRef).Apply(t.Context(), ruleRef.Name, late, metav1.ApplyOptions{FieldManager: manager}); !byPolicy(err) {
		t.Errorf("got %v", err)
	}
}

func TestAHubThatWasRestoredFromABackupTakesAnEpochAboveWhatItsMembersHold(t *testing.T) {
	b := newBench(t)
	b.holds(t, "hub", 41) // its record says less: it has none.
	if _, err := b.open(t).Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	if got := b.held(t); got != "hub/42" {
		t.Errorf("it holds %s", got)
	}
}

// registered puts the bench's cluster, and another one with an API server of its own, on the hub.
func (b *bench) registered(t *testing.T) (other *bench) {
	t.Helper()
	server := fleettest.NewAPIServer(t)
	secret := credentials(server.Kubeconfig("secret-2"))
	secret.Name = "weir-member-c2"
	c2 := b.cluster.DeepCopy()
	c2.Name, c2.Spec.APIEndpoint, c2.Spec.CABundle, c2.Spec.CredentialsSecretRef.Name = "c2", server.URL, server.CA, secret.Name
	for _, o := range []client.Object{b.cluster.DeepCopy(), c2.DeepCopy(), secret} {
		if err := b.hub.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	second := *b
	second.server, second.cluster = server, c2
	return &second
}

func TestATermBeginsAboveTheHighestOfAllMembersBeforeItWritesInAny(t *testing.T) {
	b := newBench(t)
	other := b.registered(t)
	b.holds(t, "hub", 4)
	other.holds(t, "hub", 30)
	b.open(t)
	if b.held(t) != "hub/31" || other.held(t) != "hub/30" {
		t.Errorf("they hold %s and %s", b.held(t), other.held(t))
	}
	other.open(t)
	if other.held(t) != "hub/31" {
		t.Errorf("it holds %s", other.held(t))
	}
}

func TestAMemberThatComesBackWithAHigherEpochRaisesItEverywhereBeforeTheNextWrite(t *testing.T) {
	b := newBench(t)
	m := b.open(t) // the other one is not registered yet.
	other := b.registered(t)
	other.holds(t, "hub", 30)
	other.open(t)
	if other.held(t) != "hub/31" || b.held(t) != "hub/1" {
		t.Fatalf("they hold %s and %s", b.held(t), other.held(t))
	}
	if _, err := m.Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	if a := b.stored(t).GetAnnotations(); b.held(t) != "hub/31" || a[v1alpha1.AnnotationEpoch] != "31" {
		t.Errorf("it holds %s, and the rule bears %v", b.held(t), a)
	}
}

func TestWhatIsDeletedIsClaimedFirstAndOnlyThatVersionGoes(t *testing.T) {
	older, newer := twoLeaders(t)
	if _, err := older.open(t).Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	m := newer.open(t)
	newer.server.Requests()
	if gone, err := m.Delete(t.Context(), ruleRef); !gone || err != nil {
		t.Fatal(err)
	}
	requests := slices.DeleteFunc(newer.server.Requests(), func(r fleettest.Request) bool { return r.Method == http.MethodGet })
	if len(requests) != 2 || requests[0].Method != http.MethodPatch || !strings.Contains(requests[0].Body, `"weir.io/epoch":"2"`) ||
		requests[1].Method != http.MethodDelete || !strings.Contains(requests[1].Body, "resourceVersion") {
		t.Errorf("it was asked %+v", requests)
	}
}

func TestADeleteStopsWhereANewerLeaderWroteInBetween(t *testing.T) {
	older, newer := twoLeaders(t)
	m := older.open(t)
	if _, err := m.Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	raised := false
	older.server.Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodDelete && !raised {
			raised = true
			newer.open(t) // it takes the member, and has not written the object yet.
		}
		return nil
	})
	if _, err := m.Delete(t.Context(), ruleRef); !byPolicy(err) {
		t.Errorf("got %v", err)
	}
	older.stored(t)
}

func TestWhatWasClaimedAndKeptCanBeAppliedAgain(t *testing.T) {
	older, newer := twoLeaders(t)
	if _, err := older.open(t).Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); err != nil {
		t.Fatal(err)
	}
	m := newer.open(t)
	newer.server.Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodDelete {
			return errors.New("down")
		}
		return nil
	})
	if _, err := m.Delete(t.Context(), ruleRef); err == nil {
		t.Fatal("it is gone")
	}
	newer.server.Fail(nil)
	newest := newer.leader("hub", newer.door.term.record)
	if wrote, err := newest.open(t).Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo-2"]}`)); !wrote || err != nil {
		t.Fatal(err)
	}
	got := newest.stored(t)
	if got.GetAnnotations()[v1alpha1.AnnotationEpoch] != "3" || valueAt(got, "spec", "hosts").([]any)[0] != "echo-2" {
		t.Errorf("got %v", got.Object)
	}
	newest.edit(t, "kubectl-edit", func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(u.Object, []string{"theirs"}, "spec", "hosts")
	})
	_, err := newest.open(t).Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo-3"]}`))
	wantForeign(t, err, "kubectl-edit", "hosts")
}

func TestAPolicyThatNoPolicySeesIsWrittenOnlyAfterALook(t *testing.T) {
	older, newer := twoLeaders(t)
	ref := Ref{Resource: schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}, Name: "weir-fence.demo.echo"}
	fence := func(label string) *unstructured.Unstructured {
		return object(t, `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "weir-fence.demo.echo"}, "spec": {"failurePolicy": "`+label+`"}}`)
	}
	m := older.open(t)
	if _, err := m.Apply(t.Context(), manager, ref, fence("Ignore")); err != nil {
		t.Fatal(err)
	}
	newer.open(t)
	older.server.Requests()
	_, err := m.Apply(t.Context(), manager, ref, fence("Fail"))
	wantHeld(t, err, v1alpha1.ReasonNewerLeader)
	_, err = m.Delete(t.Context(), ref)
	wantHeld(t, err, v1alpha1.ReasonNewerLeader)
	if writes := older.server.Writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestAnAnswerThatWasLostWhileTakingIsNotANewerLeader(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	// The term was raised, and what it wrote arrived though nobody heard so.
	if led, err := b.door.term.above(t.Context(), 6); !led || err != nil {
		t.Fatal(err)
	}
	m.hold.tried = 7
	b.give(t, "hub", 7, 7)
	b.open(t)
	if got := b.held(t); got != "hub/8" {
		t.Errorf("it holds %s", got)
	}
}

func TestManyThatOpenAMemberAtOnceTakeItOnce(t *testing.T) {
	b := newBench(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := b.door.Open(t.Context(), b.cluster); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if asked := b.server.EpochRequests(); len(asked) != 3 || b.held(t) != "hub/1" {
		t.Errorf("it holds %s after %v", b.held(t), asked)
	}
}

func TestWhereTheHubCannotRecordAnEpochNothingIsWritten(t *testing.T) {
	b := newBench(t)
	record := &fleettest.Epochs{}
	record.Fail(errors.New("the hub's API server is down"))
	b = b.leader("hub", record)
	if _, err := b.door.Open(t.Context(), b.cluster); err == nil || !strings.Contains(err.Error(), "is down") {
		t.Errorf("got %v", err)
	}
	if b.held(t) != "/0" {
		t.Errorf("it holds %s", b.held(t))
	}
	record.Fail(nil)
	b.open(t)
}

func TestManyMembersThatDoNotAnswerHoldUpTheBeginOfATermForATimeAlone(t *testing.T) {
	b := newBench(t)
	mute, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // the system takes connections, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mute.Close() }()
	for i := range 2 * sweepAtOnce {
		c := b.cluster.DeepCopy()
		c.Name, c.Spec.APIEndpoint = fmt.Sprintf("mute-%d", i), "https://"+mute.Addr().String()
		if err := b.hub.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	b.door.sweep = 100 * time.Millisecond
	begun := time.Now()
	b.open(t)
	if took := time.Since(begun); took >= probeTimeout {
		t.Errorf("it took %s", took)
	}
}
