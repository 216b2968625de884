// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
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
	b.cluster.UID = "registered-anew"
	fourth := b.open(t)
	if fourth == third {
		t.Error("another cluster was registered under the name, and the old one is still talked to")
	}
	third = fourth
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
		if !errors.Is(err, ErrNotConnected) || m.pause() != pause {
			t.Fatalf("want a pause of %s, got %s: %v", pause, m.pause(), err)
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

func TestRequestsThatMeetTheSameSilenceLengthenThePauseOnce(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	for range 8 {
		m.note(timeoutError{})
	}
	if m.backoff != firstBackoff {
		t.Errorf("one silence pauses for %s", m.backoff)
	}
	b.now = b.now.Add(firstBackoff)
	m.note(timeoutError{})
	if m.backoff != 2*firstBackoff {
		t.Errorf("a second silence pauses for %s", m.backoff)
	}
}

func TestSingleAnswersDoNotEndTheBackOffOfWhoTookTooLong(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	pause := time.Second
	for range 3 {
		m.Overran()
		if _, err := b.door.Open(t.Context(), b.cluster); !errors.Is(err, ErrNotConnected) || m.pause() != pause {
			t.Fatalf("want a pause of %s, got %s: %v", pause, m.pause(), err)
		}
		b.now = b.now.Add(pause)
		if _, err := b.open(t).Delete(t.Context(), ruleRef); err != nil {
			t.Fatal(err)
		}
		pause *= 2
	}
	b.now = b.now.Add(slowFor)
	if _, err := m.Delete(t.Context(), ruleRef); err != nil || m.backoff != 0 {
		t.Errorf("it answers since, and the next silence would pause for %s (%v)", 2*m.backoff, err)
	}
	m.note(timeoutError{})
	m.Overran()
	if m.backoff != firstBackoff {
		t.Errorf("one silence was counted twice: %s", m.backoff)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
