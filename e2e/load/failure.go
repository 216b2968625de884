// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"strings"
	"time"
)

// String tells of the failure in one line: who sent what and when, how it ended,
// and which upstream had it first, if that is known.
func (f Failure) String() string {
	took := "no end"
	if f.End != 0 {
		took = "after " + time.Duration(f.End-f.Sent).Round(time.Millisecond).String()
	}
	upstream := f.Upstream
	if upstream == "" {
		upstream = "unknown"
	}
	return fmt.Sprintf("%s %s %s sent %s, %s: %s (status %d, first upstream %s)",
		f.Client, f.Class, f.ID, time.Unix(0, f.Sent).UTC().Format("15:04:05.000"), took, f.Err, f.Status, upstream)
}

// Complaint says what is wrong with the account: how many requests were lost or
// executed twice, and up to most of each. It is empty when nothing is.
func (a Account) Complaint(most int) string {
	if a.Lost == 0 && a.Duplicated == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "lost %d of %d requests, %d POSTs executed twice", a.Lost, a.Sent, a.Duplicated)
	for _, f := range a.Failures[:min(len(a.Failures), most)] {
		fmt.Fprintf(&b, "\n  %s", f)
	}
	for _, id := range a.Repeats[:min(len(a.Repeats), most)] {
		fmt.Fprintf(&b, "\n  %s was executed twice", id)
	}
	return b.String()
}
