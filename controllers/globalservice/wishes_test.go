// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/pb"
)

func TestWhatAServiceAsksOfItsNamesIsNotedAndStopsNothing(t *testing.T) {
	w := newWorld(t, []*pb.ServiceFacts{
		facts(3, annotated(v1alpha1.AnnotationHostname, " not a name "), annotated(v1alpha1.AnnotationTTL, "for ever")), facts(2),
	})
	w.look() // makes it
	gs := w.look()
	if got, _ := ready(gs); got != "True Steered" {
		t.Errorf("it is %s", got)
	}
	if got := gs.Status.NameWishes; got == nil || got.Hostname != "not a name" || got.TTL != "for ever" {
		t.Errorf("got %+v", got)
	}
	gs.Status.Names = &v1alpha1.NamesStatus{Hosts: []string{"echo.demo.global.example.com"}}
	if err := w.hub.Status().Update(t.Context(), gs); err != nil {
		t.Fatal(err)
	}
	want := []string{"echo.demo.svc.cluster.local", "echo.demo.global.example.com"}
	if got := w.look().Status.Hosts; !slices.Equal(got, want) {
		t.Errorf("hosts %v", got)
	}
}

func TestAWishStaysWhileAMemberAsksForItOrIsNotHeard(t *testing.T) {
	asks := func(name, host string) memberView {
		m := memberOf(name, nil)
		m.facts = &pb.ServiceFacts{Annotations: map[string]string{v1alpha1.AnnotationGlobal: "true", v1alpha1.AnnotationHostname: host}}
		return m
	}
	silent := func(name string) memberView {
		m := memberOf(name, nil)
		m.seen, m.whole = false, false
		return m
	}
	for name, c := range map[string]struct {
		members []memberView
		old     string
		want    string
		differ  bool
	}{
		"one asks":                                {[]memberView{asks("c1", ""), asks("c2", "a")}, "", "a", false},
		"all ask for the same":                    {[]memberView{asks("c1", "a"), asks("c2", "a")}, "", "a", false},
		"the first of two that differ":            {[]memberView{asks("c1", "b"), asks("c2", "a")}, "", "b", true},
		"the one in force of two that differ":     {[]memberView{asks("c1", "b"), asks("c2", "a")}, "a", "a", true},
		"a change":                                {[]memberView{asks("c1", "b"), asks("c2", "b")}, "a", "b", false},
		"a change while one is not heard":         {[]memberView{asks("c1", "b"), silent("c2")}, "a", "b", false},
		"nobody asks any more":                    {[]memberView{asks("c1", ""), asks("c2", "")}, "a", "", false},
		"nobody asks, and one is not heard":       {[]memberView{asks("c1", ""), silent("c2")}, "a", "a", false},
		"nobody was heard, as when the hub began": {[]memberView{silent("c1"), silent("c2")}, "a", "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			gs := &v1alpha1.GlobalService{}
			for _, m := range c.members {
				gs.Status.Clusters = append(gs.Status.Clusters, v1alpha1.GlobalServiceClusterStatus{Name: m.name})
			}
			in := &input{key: key, service: gs, members: c.members}
			if got, differ := in.wish(v1alpha1.AnnotationHostname, c.old); got != c.want || differ != c.differ {
				t.Errorf("got %q, %t", got, differ)
			}
		})
	}
}

func TestMembersThatAskForDifferentNamesAreTold(t *testing.T) {
	asks := func(name, host string) memberView {
		m := memberOf(name, nil)
		m.facts = &pb.ServiceFacts{Annotations: map[string]string{v1alpha1.AnnotationGlobal: "true", v1alpha1.AnnotationHostname: host}}
		return m
	}
	wishes, notes := (&input{key: key, members: []memberView{asks("c1", strings.Repeat("x", 4000)), asks("c2", "b")}}).wishes()
	if wishes == nil || len([]rune(wishes.Hostname)) != maxWish {
		t.Errorf("got %+v", wishes)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "members ask for different weir.io/hostname") {
		t.Errorf("got %v", notes)
	}
}
