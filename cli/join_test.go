// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	r.want(t, 0, "cluster c2 is registered", "helm install agent charts/weir --kubeconfig "+filepath.Join(j.home, "member")+" -n weir-system -f "+filepath.Join(j.home, "values.yaml"))

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
	if err != nil || config.Host != j.member.URL || !slices.Equal(j.accounts(), []string{config.BearerToken}) {
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
		if strings.Contains(text, token) || strings.Contains(text, "token-of-") {
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

// accounts are the tokens of the hub's account in the member.
func (j *joins) accounts() []string {
	j.Helper()
	var list corev1.SecretList
	if err := j.member.Store.List(j.Context(), &list, client.InNamespace("weir-system")); err != nil {
		j.Fatal(err)
	}
	var out []string
	for _, s := range list.Items {
		if s.Type == corev1.SecretTypeServiceAccountToken {
			out = append(out, string(s.Data[corev1.ServiceAccountTokenKey]))
		}
	}
	return out
}

// hubIs returns the token as which the hub comes to the member.
func (j *joins) hubIs() string {
	j.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(secret(j.T, j.hub, "weir-member-c2").Data[member.KubeconfigKey])
	if err != nil {
		j.Fatal(err)
	}
	return config.BearerToken
}

func (j *joins) spec() v1alpha1.ClusterSpec {
	j.Helper()
	var c v1alpha1.Cluster
	if err := j.hub.Store.Get(j.Context(), client.ObjectKey{Name: "c2"}, &c); err != nil {
		j.Fatal(err)
	}
	return c.Spec
}

func TestJoinedAgainTheOlderTokensServeNoMore(t *testing.T) {
	j := newJoins(t)
	j.join().want(t, 0)
	first, hubWas := string(secret(t, j.member, "weir-join").Data["token"]), j.hubIs()
	j.join("--token-ttl", "10m").want(t, 0, "cluster c2 was registered already: its spec stays as it is", "older ones serve no more", "helm upgrade --install weir-agent")

	second := string(secret(t, j.member, "weir-join").Data["token"])
	id, err := stream.TokenID(second)
	if tokens := j.tokens(); err != nil || second == first || len(tokens) != 1 || !strings.HasSuffix(tokens[0].Name, id) {
		t.Errorf("the member has token %s (%v), the hub holds %v", id, err, tokens)
	}
	if now := j.hubIs(); now == hubWas || !slices.Equal(j.accounts(), []string{now}) {
		t.Errorf("the hub is %q, was %q, and the member has %v", now, hubWas, j.accounts())
	}
}

func TestJoinedAgainTheSpecSaysWhatFlagsSayAndKeepsWhatTheyDoNotSay(t *testing.T) {
	j := newJoins(t)
	j.join("--region", "east", "--zone", "e1", "--api-endpoint", "https://c2.example.com:6443").want(t, 0)
	before := j.spec()
	var c v1alpha1.Cluster
	if err := j.hub.Store.Get(t.Context(), client.ObjectKey{Name: "c2"}, &c); err != nil {
		t.Fatal(err)
	}
	c.Spec.SuspectAfter = 7
	if err := j.hub.Store.Update(t.Context(), &c); err != nil {
		t.Fatal(err)
	}

	j.join("--region", "west", "--zone", "", "--istio-cluster-id", "west-2").want(t, 0,
		`in its spec changed region from "east" to "west", zone from "e1" to "", istioClusterID from "" to "west-2".`)
	want := before
	want.Region, want.Zone, want.IstioClusterID, want.SuspectAfter = "west", "", "west-2", 7
	if d := cmp.Diff(want, j.spec()); d != "" {
		t.Error(d)
	}
	j.join("--region", "west").want(t, 0, "its spec stays as it is")
	if d := cmp.Diff(want, j.spec()); d != "" {
		t.Error(d)
	}
}

func TestAClusterMadeByHandGetsItsCredentialsFromJoin(t *testing.T) {
	j := newJoins(t)
	byHand := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c2"}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint: "https://c2.example.com:6443", CABundle: j.member.CA, Region: "north",
	}}
	if err := j.hub.Store.Create(t.Context(), byHand); err != nil {
		t.Fatal(err)
	}
	j.join().want(t, 0, `changed credentialsSecretRef from "" to "weir-member-c2"`)
	if s := j.spec(); s.Region != "north" || s.APIEndpoint != "https://c2.example.com:6443" || s.CredentialsSecretRef.Name != "weir-member-c2" {
		t.Errorf("spec %+v", s)
	}
}

func TestTheReleaseIsTheAccountsUnlessAFlagNamesAnother(t *testing.T) {
	j := newJoins(t)
	j.join("--release", "agent").want(t, 0, "helm install agent ")
	j.join().want(t, 0, "helm upgrade --install agent ")
	j.join("--release", "other").want(t, 0, "helm upgrade --install other ")
	var account corev1.ServiceAccount
	if err := j.member.Store.Get(t.Context(), client.ObjectKey{Namespace: "weir-system", Name: "weir-hub"}, &account); err != nil {
		t.Fatal(err)
	}
	if r := account.Annotations["meta.helm.sh/release-name"]; r != "other" {
		t.Errorf("Helm would find it to be of release %q", r)
	}
}

func TestWhoIsStoppedWhileJoiningAgainKeepsWhatServedAndMayGoOn(t *testing.T) {
	j := newJoins(t)
	j.join().want(t, 0)
	was := j.hubIs()
	cases := map[string]struct {
		server *fleettest.APIServer
		method string
		at     string
		says   string
	}{
		"at the credentials":        {j.hub, http.MethodPatch, "/secrets/weir-member-c2", `store the credentials of cluster "c2"`},
		"at the registration":       {j.hub, http.MethodPatch, "/clusters/c2", `change cluster "c2"`},
		"at the join token":         {j.hub, http.MethodPost, "/secrets", "store the credentials"},
		"at handing it over":        {j.member, http.MethodPut, "/secrets/weir-join", "write Secret weir-system/weir-join"},
		"at the older join tokens":  {j.hub, http.MethodDelete, "/secrets/weir-join-", `older join tokens of "c2" may still serve`},
		"at the older credentials":  {j.member, http.MethodDelete, "/secrets/weir-hub-token-", `member "c2": older credentials of the hub still serve`},
		"at looking for older ones": {j.member, http.MethodGet, "/secrets", "older credentials of the hub still serve"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.server.Fail(func(r fleettest.Request) error {
				if r.Method == c.method && (strings.HasSuffix(r.Path, c.at) || strings.HasSuffix(c.at, "-") && strings.Contains(r.Path, c.at)) {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "x", errors.New("no right"))
				}
				return nil
			})
			j.join("--region", name).want(t, 1, c.says, "no right")
			c.server.Fail(nil)
			if now := j.hubIs(); !slices.Contains(j.accounts(), now) || now == "" {
				t.Errorf("the hub is %q (was %q), which the member has no more: %v", now, was, j.accounts())
			}
			j.join("--region", name).want(t, 0)
			if now := j.hubIs(); !slices.Equal(j.accounts(), []string{now}) || len(j.tokens()) != 1 || j.spec().Region != name {
				t.Errorf("the hub is %q, the member has %v; %d join tokens; region %q", now, j.accounts(), len(j.tokens()), j.spec().Region)
			}
		})
	}
}

func TestACertificateOfAnotherNameNeedsAnAddressThatTheHubCanCheck(t *testing.T) {
	j := newJoins(t)
	j.file("member", strings.Replace(string(j.member.Kubeconfig("x")), "cluster: {server:", "cluster: {tls-server-name: example.com, server:", 1))
	r := j.join()
	r.want(t, 1, `"example.com" (tls-server-name)`, "--api-endpoint")
	if writes := append(r.hubWrote, j.member.Writes()...); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
	j.join("--api-endpoint", "https://example.com:6443").want(t, 0)
	if s := j.spec(); s.APIEndpoint != "https://example.com:6443" {
		t.Errorf("the hub would dial %s", s.APIEndpoint)
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
		"token":       {"/secrets", false, `member "c2": make Secret weir-system/weir-hub-token-`},
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
	if got.Cluster != "c2" || got.Registration != registrationNew || got.Values != filepath.Join(j.home, "values.yaml") || err != nil || time.Until(expires) > time.Hour {
		t.Errorf("got %+v", got)
	}
}
