// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"unicode/utf8"

	"github.com/weir-io/weir/resview/pb"
)

// Codes of refusals. They tell the other end how to go on; the reason beside them tells a person.
const (
	codeInvalid       = "Invalid"       // a message that makes no sense: a bug or an attack
	codeTooMuch       = "TooMuch"       // a bound was broken
	codeReplaced      = "Replaced"      // another agent took the name over
	codeSuperseded    = "Superseded"    // another agent, a newer one, has the name
	codeNotRegistered = "NotRegistered" // the hub does not know the cluster
	codeStopping      = "Stopping"      // the hub stops; come back
)

// refusal is why a session ends. It is an error only towards the code around it: for the agent it is a message.
type refusal struct {
	code   string
	reason string
}

func (r *refusal) Error() string { return r.reason }

func (r *refusal) message() *pb.HubMessage {
	return &pb.HubMessage{Body: &pb.HubMessage_Refusal{Refusal: &pb.Refusal{Code: r.code, Reason: clip(r.reason)}}}
}

func invalid(format string, args ...any) *refusal {
	return &refusal{code: codeInvalid, reason: fmt.Sprintf(format, args...)}
}

func tooMuch(format string, args ...any) *refusal {
	return &refusal{code: codeTooMuch, reason: fmt.Sprintf(format, args...)}
}

// clip shortens a text that came from outside to what may be logged and shown.
func clip(s string) string {
	if len(s) <= maxRefusalText {
		return s
	}
	s = s[:maxRefusalText]
	for !utf8.ValidString(s) && s != "" {
		s = s[:len(s)-1]
	}
	return s + "…"
}
