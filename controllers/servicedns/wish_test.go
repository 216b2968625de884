// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

func TestAWishThatCanNotBeServedIsToldAndCostsNoOtherName(t *testing.T) {
	for name, c := range map[string]struct {
		wish   v1alpha1.NameWishes
		reason string
		says   string
	}{
		"another zone":       {v1alpha1.NameWishes{Hostname: "shop.example.org"}, "BadHostname", "global.example.com"},
		"no host name":       {v1alpha1.NameWishes{Hostname: "a b.global.example.com"}, "BadHostname", "host name"},
		"a wildcard":         {v1alpha1.NameWishes{Hostname: "*.global.example.com"}, "BadHostname", "host name"},
		"a name server":      {v1alpha1.NameWishes{Hostname: "ns1.global.example.com"}, "HostnameTaken", "taken"},
		"another's own name": {v1alpha1.NameWishes{Hostname: "web.demo.global.example.com"}, "HostnameTaken", "taken"},
		"endless":            {v1alpha1.NameWishes{Hostname: strings.Repeat("a", 512)}, "BadHostname", ""},
		"an escape":          {v1alpha1.NameWishes{Hostname: "a\\.b.global.example.com"}, "BadHostname", "host name"},
		"kelvin":             {v1alpha1.NameWishes{Hostname: "\u212a.global.example.com"}, "BadHostname", "host name"},
		"a line break":       {v1alpha1.NameWishes{Hostname: "shop\n.global.example.com"}, "BadHostname", "host name"},
		"a long time":        {v1alpha1.NameWishes{TTL: "2h"}, "BadTTL", "1h"},
		"less than nothing":  {v1alpha1.NameWishes{TTL: "-5s"}, "BadTTL", "5s"},
		"half a second":      {v1alpha1.NameWishes{TTL: "500ms"}, "BadTTL", "whole seconds"},
		"no time":            {v1alpha1.NameWishes{TTL: "soon"}, "BadTTL", "soon"},
	} {
		t.Run(name, func(t *testing.T) {
			wish := c.wish
			w := newWorld(t, append(three(), serviceOf("echo", &wish, "c1", "c2"), serviceOf("web", nil, "c1"))...)
			w.settle()
			reason, message := w.resolvable("echo")
			if reason != c.reason || !strings.Contains(message, c.says) || strings.ContainsAny(message, "\n") {
				t.Errorf("%s: %s", reason, message)
			}
			if got := joined(w.answers(own)); got != "c1 c2" {
				t.Errorf("under its own name it is answered with %q", got)
			}
			if got := joined(w.answers("web.demo.global.example.com")); got != "c1" {
				t.Errorf("the other is answered with %q", got)
			}
			if reason, _ := w.resolvable("web"); reason != "Answered" {
				t.Errorf("the other is %s", reason)
			}
			if w.get("echo").Status.Names.TTLSeconds != 5 {
				t.Errorf("time to live: %+v", w.get("echo").Status.Names)
			}
		})
	}
}

func TestAHostNameStaysWithTheServiceThatHoldsIt(t *testing.T) {
	wish := v1alpha1.NameWishes{Hostname: "shop.global.example.com"}
	w := newWorld(t, append(three(), serviceOf("web", &wish, "c1"))...)
	w.settle()
	if err := w.hub.Create(context.Background(), serviceOf("aaa", &wish, "c2")); err != nil {
		t.Fatal(err)
	}
	w.change("aaa", func(gs *v1alpha1.GlobalService) { gs.Status = serviceOf("aaa", &wish, "c2").Status })
	for range 2 {
		w.settle()
		if got := joined(w.answers("shop.global.example.com")); got != "c1" {
			t.Errorf("the name that web holds is answered with %q", got)
		}
		if reason, message := w.resolvable("aaa"); reason != "HostnameTaken" || !strings.Contains(message, "shop.global.example.com is taken") {
			t.Errorf("%s: %s", reason, message)
		}
		w.restart()
	}
	if err := w.hub.Delete(context.Background(), w.get("web")); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if got := joined(w.answers("shop.global.example.com")); got != "c2" {
		t.Errorf("the name that nobody holds any more is answered with %q", got)
	}
	if reason, _ := w.resolvable("aaa"); reason != "Answered" {
		t.Errorf("it is %s", reason)
	}
}

func TestWithoutAZoneNoNameIsAnsweredAndWhoWishesForOneIsTold(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", &v1alpha1.NameWishes{Hostname: "shop.global.example.com"}, "c1"), serviceOf("web", nil, "c1"))...)
	w.settle()
	w.restart()
	w.r.Zone, w.r.Server = nil, nil
	w.settle()
	if reason, message := w.resolvable("echo"); reason != "NoZone" || !strings.Contains(message, "no global zone") {
		t.Errorf("%s: %s", reason, message)
	}
	if reason, _ := w.resolvable("web"); reason != "" || w.get("web").Status.Names != nil || w.get("echo").Status.Names != nil {
		t.Errorf("%s; %+v, %+v", reason, w.get("web").Status.Names, w.get("echo").Status.Names)
	}
}

func TestWhereAMemberIsEnteredIsWhatIsRegisteredElseWhatItsAgentSaw(t *testing.T) {
	stated := memberOf("c2", "192.0.2.2")
	stated.Spec.IngressAddresses = []string{"198.51.100.2", "999.1.1.1"}
	objects := []client.Object{
		memberOf("c1", "192.0.2.1", "lb.example.com", "0.0.0.0", "192.0.2.1"), stated, memberOf("c3", "lb.example.com"),
		serviceOf("echo", nil, "c1", "c2", "c3", "gone"),
	}
	w := newWorld(t, objects...)
	w.settle()
	got := map[string]string{}
	for _, e := range w.server.table.Entries() {
		if e.Name == own {
			for _, a := range e.Addresses {
				got[e.Cluster] += a.String()
			}
		}
	}
	if len(got) != 2 || got["c1"] != "192.0.2.1" || got["c2"] != "198.51.100.2" {
		t.Errorf("got %v", got)
	}
	if reason, message := w.resolvable("echo"); reason != "Answered" || !strings.HasPrefix(message, "c3: the cluster has no gateway address") {
		t.Errorf("%s: %s", reason, message)
	}
	w.pass(time.Minute)
	for _, c := range []string{"c3", "gone"} {
		if got := w.standing("echo", c); got != "Unused" {
			t.Errorf("%s is %s", c, got)
		}
	}
}

func TestAServiceThatNobodyCanEnterHasItsNameAndNoAnswer(t *testing.T) {
	w := newWorld(t, memberOf("c1"), serviceOf("echo", nil, "c1"), serviceOf("new", nil))
	w.settle()
	if got := w.answers(own); got == nil || len(got) > 0 {
		t.Errorf("answered with %v", got)
	}
	if reason, message := w.resolvable("echo"); reason != "NoTarget" || !strings.Contains(message, "no gateway address") {
		t.Errorf("%s: %s", reason, message)
	}
	if reason, _ := w.resolvable("new"); reason != "Pending" {
		t.Errorf("of one that nobody knows yet it says %s", reason)
	}
}

func TestATurnOfTheConditionIsAnEventOnce(t *testing.T) {
	w := newWorld(t, append(three(), serviceOf("echo", &v1alpha1.NameWishes{TTL: "2h"}, "c1"))...)
	w.pass(0)
	w.pass(time.Minute)
	if n := len(w.recorder.Events); n != 1 {
		t.Errorf("%d events", n)
	}
	if e := <-w.recorder.Events; !strings.Contains(e, "Warning BadTTL") {
		t.Errorf("got %s", e)
	}
}

func TestAZoneIsReadWholeOrRefusedWithTheWayOut(t *testing.T) {
	for name, c := range map[string]struct {
		origin  string
		servers []string
		ttl     time.Duration
		says    string
	}{
		"good":             {"Global.example.com", []string{"ns1.global.example.com=192.0.2.1,2001:db8::1", "ns.example.net"}, 0, ""},
		"no name":          {"", nil, time.Second, "missing"},
		"cluster set":      {"clusterset.local", nil, time.Second, "clusterset.local"},
		"long time":        {"global.example.com", nil, 2 * time.Hour, "whole seconds between 0s and 1h"},
		"half a second":    {"global.example.com", nil, time.Second / 2, "whole seconds"},
		"bad address":      {"global.example.com", []string{"ns.global.example.com=here"}, 0, "no address"},
		"useless address":  {"global.example.com", []string{"ns.global.example.com=0.0.0.0"}, 0, "unicast"},
		"told elsewhere":   {"global.example.com", []string{"ns.example.net=192.0.2.1"}, 0, "told elsewhere"},
		"the zone itself":  {"global.example.com", []string{"global.example.com"}, 0, "zone itself"},
		"twice":            {"global.example.com", []string{"ns.example.net", "NS.example.net."}, 0, "twice"},
		"one name too few": {"global.example.com", []string{"=192.0.2.1"}, 0, "missing"},
		"too many":         {"global.example.com", strings.Split(strings.Repeat("ns.example.net ", 14), " ")[:14], 0, "13 at most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseZone(c.origin, c.servers, c.ttl)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}
