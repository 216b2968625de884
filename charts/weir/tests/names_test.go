// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestNamesAreAnsweredOnlyWhereAZoneIsGiven(t *testing.T) {
	dns := func(values string) (args []string, services []*corev1.Service) {
		for _, r := range resources(t, "mode: hub\nhub: {advertiseAddress: 'weir.example.com:8443', dns: "+values+"}\n") {
			switch o := r.object.(type) {
			case *appsv1.Deployment:
				for _, arg := range o.Spec.Template.Spec.Containers[0].Args {
					if strings.HasPrefix(arg, "--dns") {
						args = append(args, arg)
					}
				}
			case *corev1.Service:
				if o.Name == "weir-hub-dns" {
					services = append(services, o)
				}
			}
		}
		return args, services
	}
	if args, services := dns("{service: {type: LoadBalancer}}"); len(args)+len(services) > 0 {
		t.Errorf("without a zone: %v, %v", args, services)
	}
	args, services := dns("{zone: g.example.com, ttl: 10s, nameServers: [{name: ns.g.example.com, addresses: [192.0.2.53, '2001:db8::53']}, {name: ns.example.net}], service: {type: NodePort, nodePort: 30053}}")
	want := []string{"--dns-zone=g.example.com", "--dns-name-server=ns.g.example.com=192.0.2.53,2001:db8::53", "--dns-name-server=ns.example.net", "--dns-ttl=10s", "--dns-listen=:1053"}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Error(diff)
	}
	if len(services) != 1 {
		t.Fatalf("%d Services", len(services))
	}
	for i, p := range services[0].Spec.Ports {
		if p.Port != 53 || p.NodePort != 30053 || p.Protocol != []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP}[i] || p.TargetPort.StrVal != p.Name {
			t.Errorf("port %+v", p)
		}
	}
}

func TestBadValuesOfNamesAreRefusedByKey(t *testing.T) {
	for values, want := range map[string]string{
		"{zone: 'https://g.example.com'}":                 "/hub/dns/zone",
		"{nameServers: [{addresses: ['192.0.2.1']}]}":     "/hub/dns/nameServers",
		"{nameServers: [{name: ns.a.b, addresses: [x]}]}": "/hub/dns/nameServers",
		"{ttl: 2d}":               "/hub/dns/ttl",
		"{service: {type: None}}": "/hub/dns/service/type",
		"{zones: g.example.com}":  "zones",
	} {
		_, err := render("mode: hub\nhub: {advertiseAddress: 'a:1', dns: " + values + "}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error about %s, got %v", values, want, err)
		}
	}
}
