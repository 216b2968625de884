// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// contents are the nodes of a view by name.
func contents(v *view.View) []view.Node {
	return slices.SortedFunc(v.All(), func(a, b view.Node) int { return strings.Compare(a.Name, b.Name) })
}

// tester is a test, or one run of a property.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func differ(t tester, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// follower is a hub that loads one snapshot and then follows the events.
type follower struct{ book *view.Book }

func follow(t tester, v *view.View) *follower {
	t.Helper()
	b := view.NewBook(0)
	for n := range v.All() {
		if err := b.Add(&n); err != nil {
			t.Fatalf("snapshot: %v", err)
		}
	}
	b.Seal(v.Version())
	return &follower{b}
}

// catchUp applies what came since.
func (f *follower) catchUp(t tester, after func(uint64, int) ([]stream.TimedEvent, bool)) {
	t.Helper()
	for {
		events, kept := after(f.book.Version(), 7)
		if !kept {
			t.Fatalf("events after %d are not kept", f.book.Version())
		}
		if len(events) == 0 {
			return
		}
		for _, e := range events {
			if order, err := f.book.Take(&e.Event); order != view.Next || err != nil {
				t.Fatalf("%+v: %d, %v", e.Event, order, err)
			}
		}
	}
}
