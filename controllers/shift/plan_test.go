// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"strings"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/shift"
)

func TestWhatIsOnlySaidIsANoticeAndNoWait(t *testing.T) {
	blocked := make([]shift.Blocked, v1alpha1.MaxBlocked+1, v1alpha1.MaxBlocked+2)
	for i := range blocked {
		blocked[i] = shift.Blocked{Code: shift.Unsteered, Cluster: "c2", Subject: "c1/gateway", Wakes: shift.ProofArrived, Note: true}
	}
	blocked = append(blocked, shift.Blocked{Code: shift.WeightsUnproven, Wakes: shift.ProofArrived})
	if got := blockersOf(blocked); len(got) != 1 || got[0].Code != "WeightsUnproven" || got[0].Wakes != "ProofArrived" {
		t.Errorf("it waits for %+v", got)
	}
	got := noticesOf(blocked)
	if len(got) != v1alpha1.MaxBlocked {
		t.Fatalf("%d notices, want %d", len(got), v1alpha1.MaxBlocked)
	}
	if want := (v1alpha1.Notice{Code: "Unsteered", Cluster: "c2", Subject: "c1/gateway", Message: blocked[0].Sentence()}); got[0] != want {
		t.Errorf("noticed is %+v, want %+v", got[0], want)
	}
	if c := shiftedCondition(three(), shift.Step{Kind: shift.Split}, blocked[:1]); c.Reason != "Split" || c.Message != "writing new weights: " {
		t.Errorf("a notice shows in the condition: %+v", c)
	}
}

func TestANoticeIsToldOnceHoweverItsNumbersChange(t *testing.T) {
	gs := three()
	w := newWorld(t, gs)
	lost := v1alpha1.Notice{Code: "HeadroomLost", Cluster: "c2", Message: "6 where there were 9"}
	w.r.notice(gs, []v1alpha1.Notice{lost})
	gs.Status.Shift.Notices = []v1alpha1.Notice{lost}
	lost.Message = "5 where there were 9"
	w.r.notice(gs, []v1alpha1.Notice{lost})
	if len(w.recorder.Events) != 1 {
		t.Fatalf("%d events, want 1", len(w.recorder.Events))
	}
	if e := <-w.recorder.Events; !strings.Contains(e, "HeadroomLost") || !strings.Contains(e, "6 where there were 9") {
		t.Error(e)
	}
	w.r.notice(gs, []v1alpha1.Notice{lost, {Code: "HeadroomLost", Cluster: "c3", Message: "of another cluster"}})
	if len(w.recorder.Events) != 1 {
		t.Errorf("%d events of another cluster's, want 1", len(w.recorder.Events))
	}
}
