// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	"sigs.k8s.io/yaml"
)

var modes = map[string]string{"hub": hubValues, "agent": agentValues}

func TestRolesNameVerbsAndResources(t *testing.T) {
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	for mode, values := range modes {
		bound := 0
		check := func(role string, clusterWide bool, rules []rbacv1.PolicyRule) {
			for _, rule := range rules {
				bound++
				if len(rule.APIGroups) != 1 || len(rule.NonResourceURLs) > 0 {
					t.Errorf("%s: %s: one API group a rule, and no plain URLs: %v", mode, role, rule)
				}
				for _, verb := range rule.Verbs {
					if !slices.Contains(verbs, verb) {
						t.Errorf("%s: %s: verb %q", mode, role, verb)
					}
				}
				for _, name := range slices.Concat(rule.APIGroups, rule.Resources, rule.ResourceNames) {
					if strings.Contains(name, "*") {
						t.Errorf("%s: %s: wildcard %q", mode, role, name)
					}
				}
				if clusterWide && (slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.APIGroups, "rbac.authorization.k8s.io")) {
					t.Errorf("%s: %s reaches Secrets or roles of the whole cluster", mode, role)
				}
			}
		}
		for _, r := range resources(t, values) {
			switch o := r.object.(type) {
			case *rbacv1.ClusterRole:
				check(o.Name, true, o.Rules)
			case *rbacv1.Role:
				check(o.Name, false, o.Rules)
			}
		}
		if bound == 0 {
			t.Errorf("%s grants nothing: the test looked at nothing", mode)
		}
	}
}

func TestPodsAreLockedDown(t *testing.T) {
	for mode, values := range modes {
		spec := one[*appsv1.Deployment](t, values).Spec
		if *spec.Replicas != 1 || spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			t.Errorf("%s: two could run at once", mode)
		}
		pod := spec.Template.Spec
		if !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" {
			t.Errorf("%s: pod security is %+v", mode, pod.SecurityContext)
		}
		if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.Containers) != 1 {
			t.Errorf("%s: the pod shares the node's namespaces or has company", mode)
		}
		c := pod.Containers[0]
		sc := c.SecurityContext
		if *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || !slices.Equal(sc.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: container security is %+v", mode, sc)
		}
		if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: the container has no probe or no resources", mode)
		}
		if labels := spec.Template.Labels; labels["sidecar.istio.io/inject"] != "false" {
			t.Errorf("%s: the pod could get a sidecar: %v", mode, labels)
		}
	}
}

func TestTracesGoWhereTheValuesSayAndOverTLSUnlessToldOtherwise(t *testing.T) {
	for otlp, want := range map[string][]string{
		"{}":                            nil,
		"{transport: Insecure}":         nil,
		"{endpoint: 'collector:4317'}":  {"--otlp-endpoint=collector:4317"},
		"{endpoint: '[2001:db8::1]:1'}": {"--otlp-endpoint=[2001:db8::1]:1"},
		"{endpoint: 'collector:4317', transport: Insecure}": {"--otlp-endpoint=collector:4317", "--otlp-insecure"},
	} {
		values := "mode: hub\nhub: {advertiseAddress: 'weir.example.com:8443', otlp: " + otlp + "}\n"
		var got []string
		for _, arg := range one[*appsv1.Deployment](t, values).Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "--otlp") {
				got = append(got, arg)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("otlp: %s (-want +got)\n%s", otlp, diff)
		}
	}
}

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

func TestDefinitionsAreThoseOfTheAPIAndAreKept(t *testing.T) {
	all, hub := definitions(t, "../../../config/crd"), map[string][]byte{}
	// Those that this build's controllers work for.
	for _, plural := range []string{
		"clusters", "clusterdrains", "federateddeployments", "federatedservices", "globalservices", "replicaschedulingpreferences",
		"resourcebindings", "trafficpolicies", "works",
	} {
		hub[plural+".federation.weir.io"] = all[plural+".federation.weir.io"]
	}
	agent := map[string][]byte{
		"serviceexports.multicluster.x-k8s.io": mcscrd.ServiceExportCRD,
		"serviceimports.multicluster.x-k8s.io": mcscrd.ServiceImportCRD,
		// Who may write there.
		"federationepochs.federation.weir.io": all["federationepochs.federation.weir.io"],
	}
	for mode, want := range map[string]map[string][]byte{"hub": hub, "agent": agent} {
		got := map[string]bool{}
		for _, r := range resources(t, modes[mode]) {
			def, ok := r.object.(*apiextensionsv1.CustomResourceDefinition)
			if !ok {
				continue
			}
			got[def.Name] = true
			if def.Annotations["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s: %s would be deleted with the release, and every object of its kind", mode, def.Name)
			}
			var source apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal(want[def.Name], &source); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(source.Spec, def.Spec); diff != "" {
				t.Errorf("%s: %s differs from its source (-source +chart)\n%s", mode, def.Name, diff)
			}
			for key, value := range source.Annotations {
				if def.Annotations[key] != value {
					t.Errorf("%s: %s lost annotation %s", mode, def.Name, key)
				}
			}
			for key, value := range source.Labels {
				if def.Labels[key] != value {
					t.Errorf("%s: %s lost label %s", mode, def.Name, key)
				}
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: installs %v, want %d", mode, got, len(want))
		}
	}
}

func TestDefinitionsCanBeLeftOut(t *testing.T) {
	for mode, values := range map[string]string{"hub": hubValues + "crds: {install: Disabled}", "agent": agentValues + "crds: {install: Disabled}\nmcs: {installCRDs: Disabled}"} {
		for _, r := range resources(t, values) {
			if r.kind == "CustomResourceDefinition" {
				t.Errorf("%s still installs %s", mode, r.name)
			}
		}
	}
}

// definitions reads each definition in a folder, by its name.
func definitions(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var def apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &def); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[def.Name] = data
	}
	return out
}
