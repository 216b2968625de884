// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/controllers/fleettest"
)

func (b *bench) setCredentials(t *testing.T, kubeconfig []byte) {
	t.Helper()
	s := credentials(nil)
	if err := b.hub.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	s.Data[KubeconfigKey] = kubeconfig
	if err := b.hub.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) ask(t *testing.T) error {
	t.Helper()
	_, err := b.open(t).Delete(t.Context(), ruleRef)
	return err
}

func TestTheSpecSaysWhereToAndWhomToTrustAndTheSecretWhomToBe(t *testing.T) {
	b := newBench(t)
	other := fleettest.NewAPIServer(t)
	other.Stop()
	b.setCredentials(t, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: x,
  clusters: [{name: x, cluster: {server: %q, insecure-skip-tls-verify: true}}],
  users: [{name: x, user: {token: hello}}], contexts: [{name: x, context: {cluster: x, user: x}}]}`, other.URL))
	if err := b.ask(t); err != nil {
		t.Fatal(err)
	}
	requests := b.server.Requests()
	if len(requests) == 0 || requests[0].Token != "hello" {
		t.Errorf("requests %+v", requests)
	}
	b.cluster.Spec.CABundle = nil
	b.cluster.Generation++
	if err := b.ask(t); err == nil {
		t.Error("a member that nobody vouches for was talked to")
	}
	if requests := b.server.Requests(); len(requests) > 0 {
		t.Errorf("credentials were sent to it: %+v", requests)
	}
}

func TestCredentialsThatRunProgramsOrNameFilesAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(file, fleettest.NewAPIServer(t).CA, 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(user string) func(*bench) []byte {
		return func(b *bench) []byte { return fleettest.Kubeconfig(b.server.URL, b.server.CA, user) }
	}
	cases := map[string]struct {
		kubeconfig func(*bench) []byte
		says       string
	}{
		"a program":              {with("exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, interactiveMode: Never}"), "runs a program"},
		"an auth provider":       {with("auth-provider: {name: gcp}"), "auth provider"},
		"a file with a token":    {with("tokenFile: " + file), "names files"},
		"a file with a key":      {with("client-certificate: " + file + ", client-key: " + file), "names files"},
		"a file with an old CA":  {func(*bench) []byte { return fmt.Appendf(nil, fileCA, file) }, "names files"},
		"a file that is missing": {with("tokenFile: " + file + ", client-certificate: /gone"), "is no kubeconfig"},
		"nothing that is one":    {func(*bench) []byte { return []byte("token: s3cr3t [") }, "is no kubeconfig"},
		"nothing, under the key": {func(*bench) []byte { return nil }, `has no key "kubeconfig"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.setCredentials(t, c.kubeconfig(b))
			_, err := b.door.Open(t.Context(), b.cluster)
			if !errors.Is(err, ErrNoCredentials) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `cluster "c1"`) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%q gives the file away", err)
			}
		})
	}
}

const fileCA = `{apiVersion: v1, kind: Config, current-context: x,
  clusters: [{name: x, cluster: {server: "https://127.0.0.1:1", certificate-authority: %s}}],
  users: [{name: x, user: {token: hello}}], contexts: [{name: x, context: {cluster: x, user: x}}]}`

func TestAClusterWithoutCredentialsIsToldTheWayOut(t *testing.T) {
	b := newBench(t)
	b.cluster.Spec.CredentialsSecretRef.Name = "gone"
	if _, err := b.door.Open(t.Context(), b.cluster); !errors.Is(err, ErrNoCredentials) || !strings.Contains(err.Error(), "weir-system/gone does not exist") {
		t.Errorf("got %v", err)
	}
	b.cluster.Spec.CredentialsSecretRef = nil
	if _, err := b.door.Open(t.Context(), b.cluster); !errors.Is(err, ErrNoCredentials) || !strings.Contains(err.Error(), "kubectl weir join") {
		t.Errorf("got %v", err)
	}
}

func TestAConnectionIsMadeAnewOnlyForNewCredentialsOrANewSpec(t *testing.T) {
	b := newBench(t)
	first := b.open(t)
	if b.open(t) != first {
		t.Error("nothing changed, and there is another connection")
	}
	b.setCredentials(t, b.server.Kubeconfig("secret-2"))
	second := b.open(t)
	if second == first {
		t.Fatal("new credentials, and the old connection")
	}
	if err := b.ask(t); err != nil {
		t.Fatal(err)
	}
	if r := b.server.Requests(); len(r) == 0 || r[0].Token != "secret-2" {
		t.Errorf("requests %+v", r)
	}
	b.cluster.Generation++
	third := b.open(t)
	if third == second {
		t.Error("a new spec, and the old connection")
	}
	b.door.Forget("c1")
	if b.open(t) == third {
		t.Error("a member that was forgotten is still connected")
	}
}

func TestASilentMemberCostsOneTimeOutAndIsAskedAgainAfterAPause(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	b.server.Stop()
	pause := time.Second
	for range 8 {
		if _, err := m.Delete(t.Context(), ruleRef); err == nil {
			t.Fatal("a member that is off answered")
		}
		_, err := b.door.Open(t.Context(), b.cluster)
		if !errors.Is(err, ErrNotConnected) || !strings.Contains(err.Error(), pause.String()) {
			t.Fatalf("want a pause of %s, got %v", pause, err)
		}
		b.now = b.now.Add(pause)
		if _, err := b.door.Open(t.Context(), b.cluster); err != nil {
			t.Fatalf("after the pause: %v", err)
		}
		pause = min(2*pause, 30*time.Second)
	}
}

func TestAnAnswerOfAnyKindEndsTheBackOff(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	m.note(timeoutError{})
	m.note(timeoutError{})
	if _, err := b.door.Open(t.Context(), b.cluster); !errors.Is(err, ErrNotConnected) {
		t.Fatalf("got %v", err)
	}
	b.server.Fail(func(fleettest.Request) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "virtualservices"}, "echo", errors.New("no right"))
	})
	if _, err := m.Delete(t.Context(), ruleRef); !apierrors.IsForbidden(err) {
		t.Fatalf("got %v", err)
	}
	b.open(t)
	if m.backoff != 0 {
		t.Errorf("the next silence would pause for %s", 2*m.backoff)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
