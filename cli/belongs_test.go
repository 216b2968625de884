// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
)

// held puts the epoch of a hub into the member.
func (j *joins) held(hub string, epoch int64) {
	j.Helper()
	e := &v1alpha1.FederationEpoch{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.FederationEpochName}, Spec: v1alpha1.FederationEpochSpec{HubUID: hub, Epoch: epoch},
	}
	if err := j.member.Store.Create(j.Context(), e); err != nil {
		j.Fatal(err)
	}
}

func TestAMemberOfAnotherHubIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	j := newJoins(t)
	j.held("hub-2", 12)
	r := j.join()
	r.want(t, 1, `member "c2" belongs to another hub`, "UID hub-2 (epoch 12)", "nothing was changed", "--take-over")
	if writes := append(r.hubWrote, j.member.Writes()...); len(writes) > 0 || j.member.Epoch(t.Context()).HubUID != "hub-2" {
		t.Errorf("wrote %v", writes)
	}
}

func TestAMemberIsTakenFromAnotherHubOnlyWhenToldTo(t *testing.T) {
	j := newJoins(t)
	j.held("hub-2", 12)
	j.join("--take-over").want(t, 0, "cluster c2 was taken from the hub hub-2, which can write nothing there any more", "cluster c2 is registered")
	if got := j.member.Epoch(t.Context()); got.HubUID != "hub-1" || got.Epoch != 13 {
		t.Errorf("it belongs to %+v", got)
	}
	r := j.join("--take-over", "-o", "json")
	var report joined
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || report.TakenFrom != "" {
		t.Errorf("taken twice: %+v, %v", report, err)
	}
}

func TestAMemberOfThisHubOrOfNoneIsJoinedWithoutMore(t *testing.T) {
	j := newJoins(t)
	j.join().want(t, 0)
	if got := j.member.Epoch(t.Context()); got.Epoch != 0 {
		t.Errorf("join took an epoch: %+v", got)
	}
	j.held("hub-1", 3)
	j.join().want(t, 0)
	if got := j.member.Epoch(t.Context()); got.Epoch != 3 {
		t.Errorf("join changed the epoch: %+v", got)
	}
}
