// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/weir-io/weir/resview/inventory"
)

// reporter makes an event of each problem when it appears, and again only after it had gone. It is for one goroutine.
type reporter struct {
	recorder events.EventRecorder
	said     map[inventory.Problem]bool
}

// actionRead is what weir was doing when it met the problem.
const actionRead = "ReadAnnotations"

func (r *reporter) report(problems []inventory.Problem) {
	next := make(map[inventory.Problem]bool, len(problems))
	for _, p := range problems {
		next[p] = true
		if r.said[p] {
			continue
		}
		service := &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
		r.recorder.Eventf(service, nil, corev1.EventTypeWarning, p.Reason, actionRead, "%s", clip(p.Message))
	}
	r.said = next
}

// maxNote is what the API server takes as an event's note.
const maxNote = 1024

func clip(s string) string {
	const mark = "…"
	if len(s) <= maxNote {
		return s
	}
	n := maxNote - len(mark)
	for n > 0 && s[n]&0xc0 == 0x80 { // Not in the middle of a character.
		n--
	}
	return s[:n] + mark
}
