// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-io/weir/resview/pb"
)

func served(apis ...string) *pb.AgentMessage {
	return &pb.AgentMessage{Sequence: 2, Body: &pb.AgentMessage_Served{Served: &pb.ServedAPIs{Apis: apis}}}
}

func TestWhatAMemberServesIsPartOfItsViewAndStaysWhenItsAgentGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t)
		serves := func() []string { return h.nodesOf(t, "c1").Serves }
		if got := serves(); got != nil {
			t.Errorf("before anything was told: %q", got)
		}
		a := h.startAgent("c1")
		tell := func(apis ...string) {
			t.Helper()
			if err := a.SetServed(&pb.ServedAPIs{Apis: apis}); err != nil {
				t.Fatal(err)
			}
			wait(time.Second)
		}
		tell("v1/Pod", "apps/v1/Deployment", "v1/Pod")
		if want := []string{"apps/v1/Deployment", "v1/Pod"}; !slices.Equal(serves(), want) {
			t.Errorf("%q, want %q: sorted, and each once", serves(), want)
		}
		a.halt()
		wait(time.Second)
		if len(serves()) != 2 {
			t.Errorf("after the agent went: %q", serves())
		}
		a = h.startAgent("c1")
		tell()
		if len(serves()) != 0 {
			t.Errorf("the member no longer says: %q", serves())
		}
		if err := a.SetServed(&pb.ServedAPIs{Apis: []string{"Deployment"}}); err == nil {
			t.Error("what the hub would refuse was taken")
		}
	})
}

func TestMembersThatServeTheSameShareOneList(t *testing.T) {
	var lists servedLists
	a, b := lists.share([]string{"v1/Pod", "apps/v1/Deployment"}), lists.share([]string{"apps/v1/Deployment", "v1/Pod", "v1/Pod"})
	other := lists.share([]string{"v1/Pod"})
	if a != b || a == other || len(lists.known) != 2 {
		t.Errorf("%p %p %p: %d lists", a, b, other, len(lists.known))
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(other)
}

func TestAListThatNobodyHasIsForgotten(t *testing.T) {
	var lists servedLists
	lists.share([]string{"v1/Pod"})
	for range 100 {
		runtime.GC()
		lists.mu.Lock()
		left := len(lists.known)
		lists.mu.Unlock()
		if left == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("it is kept for ever")
}

func TestServedAPIsAreBoundedAndOfTheirForm(t *testing.T) {
	for name, c := range map[string]struct {
		message *pb.AgentMessage
		ok      bool
	}{
		"none":        {served(), true},
		"a group's":   {served("apps/v1/Deployment"), true},
		"the core's":  {served("v1/Service"), true},
		"at most":     {served(repeated(maxServed, func(i int) string { return fmt.Sprintf("v1/Kind%d", i) })...), true},
		"too many":    {served(repeated(maxServed+1, func(i int) string { return fmt.Sprintf("v1/Kind%d", i) })...), false},
		"too long":    {served("v1/" + string(make([]byte, maxServedName))), false},
		"no version":  {served("Deployment"), false},
		"four parts":  {served("apps/v1/Deployment/scale"), false},
		"empty part":  {served("apps//Deployment"), false},
		"nothing":     {served(""), false},
		"in a colour": {served("v1/\x1b[31mPod"), false},
	} {
		if why := check(c.message); (why == nil) != c.ok {
			t.Errorf("%s: %v", name, why)
		}
	}
}
