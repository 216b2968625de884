// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
)

func TestACopyOfAHubDoesNotTakeItsMembersBackInTurns(t *testing.T) {
	b := newBench(t)
	original, restored := b.leader("hub", &fleettest.Epochs{}), b.leader("hub", &fleettest.Epochs{}) // a record each
	original.open(t)
	restored.open(t)
	if got := b.held(t); got != "hub/2" {
		t.Fatalf("it holds %s", got)
	}
	for range 3 {
		original.now = original.now.Add(lookEpoch)
		wantHeld(t, original.door.Confirm(t.Context(), original.cluster), v1alpha1.ReasonNewerLeader, "restored from a backup", "stop the one that is not wanted")
		restored.now = restored.now.Add(lookEpoch)
		if err := restored.door.Confirm(t.Context(), restored.cluster); err != nil {
			t.Error(err)
		}
	}
	if got := b.held(t); got != "hub/2" {
		t.Errorf("it holds %s", got)
	}
}

func TestAnotherHubIsRefusedAndToldTheWayOut(t *testing.T) {
	b := newBench(t)
	b.open(t)
	second := b.leader("hub-2", &fleettest.Epochs{})
	_, err := second.door.Open(t.Context(), second.cluster)
	wantHeld(t, err, v1alpha1.ReasonOtherHub, "UID hub (epoch 1)", "kubectl weir join c1 --take-over", "delete the Cluster object")
	if got := b.held(t); got != "hub/1" {
		t.Errorf("it holds %s", got)
	}
}

func TestAHubWhoseMemberWasGivenToAnotherLearnsItWithinAMinuteAndStops(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	if err := b.door.Confirm(t.Context(), b.cluster); err != nil {
		t.Fatal(err)
	}
	b.give(t, "hub-2", 9, 9)
	if _, err := m.Apply(t.Context(), manager, ruleRef, rule(t, `{"hosts": ["echo"]}`)); !byPolicy(err) {
		t.Errorf("a write: %v", err)
	}
	wantHeld(t, b.door.Confirm(t.Context(), b.cluster), v1alpha1.ReasonOtherHub, "hub-2")

	quiet := b.leader("hub-2", &fleettest.Epochs{})
	quiet.open(t)
	b.give(t, "hub-3", 90, 90)
	if err := quiet.door.Confirm(t.Context(), quiet.cluster); err != nil {
		t.Errorf("it was asked at once again: %v", err)
	}
	quiet.now = quiet.now.Add(lookEpoch)
	wantHeld(t, quiet.door.Confirm(t.Context(), quiet.cluster), v1alpha1.ReasonOtherHub, "hub-3")
}

func TestAMemberThatAPersonGivesBackIsTakenByTheLeaderOfNow(t *testing.T) {
	b := newBench(t)
	b.open(t)
	b.give(t, "hub-2", 9, 9)
	b.now = b.now.Add(lookEpoch)
	wantHeld(t, b.door.Confirm(t.Context(), b.cluster), v1alpha1.ReasonOtherHub)
	b.give(t, "hub", 10, 0)
	if err := b.door.Confirm(t.Context(), b.cluster); err != nil || b.held(t) != "hub/11" {
		t.Errorf("it holds %s: %v", b.held(t), err)
	}
}

func TestNothingIsWrittenWhereNothingWouldRefuseAnOlderLeader(t *testing.T) {
	b := newBench(t)
	b.server.Unknow()
	_, err := b.door.Open(t.Context(), b.cluster)
	wantHeld(t, err, v1alpha1.ReasonEpochNotTaken, "does not know the kind FederationEpoch", "upgrade it")
	b.server.Unguard()
	_, err = b.door.Open(t.Context(), b.cluster)
	wantHeld(t, err, v1alpha1.ReasonEpochNotTaken, "admission policies weir-epoch*", "upgrade of the release")
	if b.held(t) != "hub/1" {
		t.Errorf("it holds %s", b.held(t))
	}
	b.server.Guard()
	b.open(t)
	if b.held(t) != "hub/1" {
		t.Errorf("it holds %s", b.held(t))
	}
}

func TestAMemberThatSaysAnEpochThatNobodyCameToIsLeftAloneAndHoldsUpNoOther(t *testing.T) {
	for _, said := range []int64{math.MaxInt64, 999_999_999_999_999_998, 2 + leap} {
		b := newBench(t)
		other := b.registered(t)
		other.holds(t, "hub", said)
		b.open(t)
		if got := b.held(t); got != "hub/1" {
			t.Errorf("beside one that says %d, it holds %s", said, got)
		}
		_, err := other.door.Open(t.Context(), other.cluster)
		wantHeld(t, err, v1alpha1.ReasonEpochNotTaken, strconv.FormatInt(said, 10), "delete federationepoch weir")
		if got := b.door.term.Epoch(); got != 1 {
			t.Errorf("one that says %d made the hub's %d", said, got)
		}
	}
}

func TestAMemberThatSaysAHigherEpochAtEachLookRaisesItOnceInAMinute(t *testing.T) {
	b := newBench(t)
	b.open(t)
	for i := range int64(4) {
		b.give(t, "hub", 10+10*i, 0)
		err := b.door.lookAt(t, b.cluster)
		if i == 0 && err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			wantHeld(t, err, v1alpha1.ReasonEpochNotTaken, "find out who writes it")
		}
	}
	if got := b.door.term.Epoch(); got != 11 {
		t.Errorf("the hub's epoch is %d", got)
	}
	b.now = b.now.Add(lookEpoch)
	if b.open(t); b.held(t) != "hub/41" {
		t.Errorf("it holds %s", b.held(t))
	}
}

func TestAHigherEpochThatTheHubCouldNotTakeIsTakenAsSoonAsItCan(t *testing.T) {
	record := &fleettest.Epochs{}
	b := newBench(t).leader("hub", record)
	b.open(t)
	b.give(t, "hub", 10, 0)
	record.Fail(errors.New("the hub's API server is down"))
	if err := b.door.lookAt(t, b.cluster); err == nil || !strings.Contains(err.Error(), "is down") {
		t.Errorf("got %v", err)
	}
	record.Fail(nil)
	if b.open(t); b.held(t) != "hub/11" {
		t.Errorf("it holds %s", b.held(t))
	}
}

// lookAt is what happens right before a policy is written.
func (d *Door) lookAt(t *testing.T, cluster *v1alpha1.Cluster) error {
	t.Helper()
	m, err := d.Reach(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return m.look(t.Context())
}
