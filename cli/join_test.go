// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/identity"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/stream"
)

// joins is a shell with a member that wants to join.
type joins struct {
	*shell

	member *fleettest.APIServer
}

func newJoins(t *testing.T, objects ...client.Object) *joins {
	t.Helper()
	j := &joins{shell: newShell(t, objects...), member: fleettest.NewAPIServer(t)}
	j.file("member", string(j.member.Kubeconfig("member-admin")))
	return j
}

func (j *joins) join(args ...string) result {
	j.Helper()
	return j.run(append([]string{"join", "c2", "--member-kubeconfig", filepath.Join(j.home, "member"), "--values", filepath.Join(j.home, "values.yaml")}, args...)...)
}

func secret(t *testing.T, s *fleettest.APIServer, name string) *corev1.Secret {
	t.Helper()
	var out corev1.Secret
	if err := s.Store.Get(t.Context(), client.ObjectKey{Namespace: "weir-system", Name: name}, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// tokens are the join tokens on the hub.
func (j *joins) tokens() []corev1.Secret {
	j.Helper()
	var list corev1.SecretList
	if err := j.hub.Store.List(j.Context(), &list, client.HasLabels{identity.LabelToken}); err != nil {
		j.Fatal(err)
	}
	return list.Items
}

func TestJoinRegistersAMember(t *testing.T) {
	j := newJoins(t)
	r := j.join("--region", "west", "--zone", "w1", "--istio-cluster-id", "west-2", "--release", "agent")
	r.want(t, 0, "cluster c2 is registered", "helm install agent charts/weir -n weir-system -f "+filepath.Join(j.home, "values.yaml"))

	var c v1alpha1.Cluster
	if err := j.hub.Store.Get(t.Context(), client.ObjectKey{Name: "c2"}, &c); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.ClusterSpec{
		APIEndpoint: j.member.URL, CABundle: j.member.CA, Region: "west", Zone: "w1", IstioClusterID: "west-2",
		CredentialsSecretRef: &v1alpha1.SecretReference{Name: "weir-member-c2"},
	}
	if d := cmp.Diff(want, c.Spec); d != "" {
		t.Error(d)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret(t, j.hub, "weir-member-c2").Data[member.KubeconfigKey])
	if err != nil || config.Host != j.member.URL || config.BearerToken != "token-of-weir-hub-token" {
		t.Errorf("the hub would come to %+v, %v", config, err)
	}

	handed := secret(t, j.member, "weir-join")
	if string(handed.Data["ca.crt"]) != "hub's CA" {
		t.Errorf("the agent would trust %q", handed.Data["ca.crt"])
	}
	id, err := stream.TokenID(string(handed.Data["token"]))
	if tokens := j.tokens(); err != nil || len(tokens) != 1 || !strings.HasSuffix(tokens[0].Name, id) || string(tokens[0].Data["cluster"]) != "c2" {
		t.Errorf("the member got token %s (%v), the hub holds %v", id, err, tokens)
	}

	raw, err := os.ReadFile(filepath.Join(j.home, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	wantValues := map[string]any{"mode": "agent", "agent": map[string]any{
		"clusterName": "c2", "hubAddress": "hub.example.com:443", "joinSecretName": "weir-join",
	}}
	if d := cmp.Diff(wantValues, values); d != "" {
		t.Error(d)
	}
	_, token, _ := strings.Cut(string(handed.Data["token"]), ".")
	for name, text := range map[string]string{"the values": string(raw), "the output": r.out + r.progress} {
		if strings.Contains(text, token) || strings.Contains(text, "token-of-weir-hub-token") {
			t.Errorf("%s hold a secret", name)
		}
	}
}

func TestTheHubsAccountHasNoRightsAndBelongsToTheAgentsRelease(t *testing.T) {
	j := newJoins(t)
	j.join("--release", "agent", "--member-namespace", "weir-agent").want(t, 0)
	var account corev1.ServiceAccount
	if err := j.member.Store.Get(t.Context(), client.ObjectKey{Namespace: "weir-agent", Name: "weir-hub"}, &account); err != nil {
		t.Fatal(err)
	}
	if account.Annotations["meta.helm.sh/release-name"] != "agent" || account.Annotations["meta.helm.sh/release-namespace"] != "weir-agent" {
		t.Errorf("annotations %v", account.Annotations)
	}
	for _, w := range j.member.Writes() {
		if strings.Contains(w, "rbac") || strings.Contains(w, "rolebindings") {
			t.Errorf("join gave rights: %s", w)
		}
	}
}

func TestJoinMayBeRunAgain(t *testing.T) {
	j := newJoins(t)
	j.join().want(t, 0)
	first := string(secret(t, j.member, "weir-join").Data["token"])
	j.join("--token-ttl", "10m").want(t, 0)
	if second := string(secret(t, j.member, "weir-join").Data["token"]); second == first || len(j.tokens()) != 2 {
		t.Errorf("%d tokens, the member's changed: %t", len(j.tokens()), second != first)
	}
}

func TestAnotherClusterUnderTheSameNameIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	j := newJoins(t)
	j.join().want(t, 0)
	other := fleettest.NewAPIServer(t)
	// Test servers share their certificate: this CA is another one all the same.
	ca := strings.Repeat(string(other.CA), 2)
	j.file("member", string(fleettest.Kubeconfig(other.URL, []byte(ca), "token: x")))
	r := j.join()
	r.want(t, 1, `cluster "c2" is registered already with another CA (`+j.member.URL+`)`, "another name")
	if writes := append(r.hubWrote, other.Writes()...); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestJoinSaysWhatIsWrongWithTheMembersKubeconfig(t *testing.T) {
	cases := map[string]struct{ text, says string }{
		"none":            {"[", "read the kubeconfig of the member"},
		"no CA":           {`{apiVersion: v1, kind: Config, current-context: x, clusters: [{name: x, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}], users: [{name: x, user: {token: tok}}], contexts: [{name: x, context: {cluster: x, user: x}}]}`, "the member's kubeconfig: spec.caBundle is empty"},
		"a CA that is no": {string(fleettest.Kubeconfig("https://127.0.0.1:1", []byte("x"), "token: tok")), "the member's kubeconfig: spec.caBundle"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			j := newJoins(t)
			j.file("member", c.text)
			r := j.join()
			r.want(t, 1, c.says)
			if len(r.hubWrote) > 0 {
				t.Errorf("wrote %v", r.hubWrote)
			}
		})
	}
}

func TestJoinSaysWhenTheHubIsNotInstalled(t *testing.T) {
	j := newJoins(t)
	r := j.join("-n", "elsewhere")
	r.want(t, 1, "no ConfigMap elsewhere/weir-hub", "--namespace")
	if writes := append(r.hubWrote, j.member.Writes()...); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

func TestJoinSaysWhereItFailed(t *testing.T) {
	cases := map[string]struct {
		at   string // part of the path of the write that is refused
		hub  bool
		says string
	}{
		"namespace":   {"/namespaces", false, `member "c2": make namespace weir-system`},
		"account":     {"/serviceaccounts", false, `member "c2": make ServiceAccount weir-system/weir-hub`},
		"token":       {"/secrets", false, `member "c2": make Secret weir-system/weir-hub-token`},
		"credentials": {"/secrets", true, `store the credentials of cluster "c2"`},
		"cluster":     {"/clusters", true, `register cluster "c2"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			j := newJoins(t)
			server := j.member
			if c.hub {
				server = j.hub
			}
			server.Fail(func(r fleettest.Request) error {
				if r.Method == http.MethodPost && strings.HasSuffix(r.Path, c.at) {
					return apierrors.NewForbidden(schema.GroupResource{Resource: c.at[1:]}, "x", errors.New("no right"))
				}
				return nil
			})
			j.join().want(t, 1, c.says, "no right")
		})
	}
}

func TestValuesGoWhereTheUserWants(t *testing.T) {
	j := newJoins(t)
	r := j.run("join", "c2", "--member-kubeconfig", filepath.Join(j.home, "member"), "--values", "-")
	r.want(t, 0)
	var values map[string]any
	if err := yaml.Unmarshal([]byte(r.out), &values); err != nil || values["mode"] != "agent" {
		t.Errorf("%v in\n%s", err, r.out)
	}
	j.run("join", "c2", "--member-kubeconfig", filepath.Join(j.home, "member"), "--values", filepath.Join(j.home, "no", "such")).want(t, 1, "write the agent's values")
}

func TestJoinAsJSON(t *testing.T) {
	j := newJoins(t)
	r := j.join("-o", "json")
	r.want(t, 0)
	var got joined
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil || dec.More() {
		t.Fatalf("%v in\n%s", err, r.out)
	}
	expires, err := time.Parse(time.RFC3339, got.Expires)
	if got.Cluster != "c2" || got.Values != filepath.Join(j.home, "values.yaml") || err != nil || time.Until(expires) > time.Hour {
		t.Errorf("got %+v", got)
	}
}
