// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package census

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProxyThatShouldBeConnectedAndIsNotIsNamed(t *testing.T) {
	at := time.Date(2026, 8, 27, 12, 0, 0, 0, time.UTC)
	pod := func(name string, kind Kind, phase Phase, created time.Time, restarts int32) Pod {
		return Pod{Namespace: "a", Name: name, Kind: kind, Phase: phase, Created: created, ProxyRestarts: restarts}
	}
	pods := []Pod{
		pod("plain", KindNone, PhaseRunning, at, 0),
		pod("ended", KindSidecar, PhaseDone, at, 0),
		pod("there", KindSidecar, PhaseRunning, at, 0),
		pod("terminating", KindSidecar, PhaseTerminating, at, 0),
		pod("gone", KindSidecar, PhaseRunning, at, 0),
		pod("gate", KindGateway, PhaseRunning, at, 0),
		pod("early", KindSidecar, PhaseStarting, at.Add(-time.Second), 0),
		pod("late", KindSidecar, PhaseStarting, at, 0),
		pod("late-again", KindSidecar, PhaseStarting, at, 1),
	}
	always := []Missing{
		{Proxy: "early.a", Kind: KindSidecar, Reason: ReasonStarting},
		{Proxy: "gate.a", Kind: KindGateway, Reason: ReasonDisconnected},
		{Proxy: "gone.a", Kind: KindSidecar, Reason: ReasonDisconnected},
		{Proxy: "late-again.a", Kind: KindSidecar, Reason: ReasonStarting},
		{Proxy: "terminating.a", Kind: KindSidecar, Reason: ReasonDisconnected},
	}
	connected := map[string]bool{"there.a": true}
	if diff := cmp.Diff(always, Compare(pods, connected, at)); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	late := Missing{Proxy: "late.a", Kind: KindSidecar, Reason: ReasonStarting}
	unsettled := append(append([]Missing{}, always[:4]...), late, always[4])
	// By name: late-again sorts before late, since - is before the dot.
	if diff := cmp.Diff(unsettled, Compare(pods, connected, time.Time{})); diff != "" {
		t.Errorf("not settled (-want +got):\n%s", diff)
	}
}
