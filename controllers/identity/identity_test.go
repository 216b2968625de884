// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/resview/stream"
)

const namespace = "weir-system"

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func serve(t *testing.T, objects ...client.Object) (*fleettest.APIServer, kubernetes.Interface) {
	t.Helper()
	server := fleettest.NewAPIServer(t, objects...)
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: server.CA}, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return server, kube
}

func TestOfHubsThatStartAtOnceOneMakesTheAuthority(t *testing.T) {
	_, kube := serve(t)
	const hubs = 6
	bundles := make([][]byte, hubs)
	var wg sync.WaitGroup
	for i := range hubs {
		wg.Go(func() {
			a, err := stream.OpenAuthority(t.Context(), &Authority{Client: kube, Namespace: namespace}, now)
			if err != nil {
				t.Errorf("hub %d: %v", i, err)
				return
			}
			bundles[i] = a.Bundle()
		})
	}
	wg.Wait()
	for i := range hubs {
		if len(bundles[i]) == 0 || !bytes.Equal(bundles[i], bundles[0]) {
			t.Errorf("hub %d trusts another authority than hub 0", i)
		}
	}
}

func TestTheAuthorityOutlivesItsHub(t *testing.T) {
	_, kube := serve(t)
	first, err := stream.OpenAuthority(t.Context(), &Authority{Client: kube, Namespace: namespace}, now)
	if err != nil {
		t.Fatal(err)
	}
	second, err := stream.OpenAuthority(t.Context(), &Authority{Client: kube, Namespace: namespace}, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bundle(), second.Bundle()) {
		t.Error("a restart made another authority")
	}
}

func TestAnAuthorityThatSomebodyChangedSinceIsNotOverwritten(t *testing.T) {
	_, kube := serve(t)
	a, b := &Authority{Client: kube, Namespace: namespace}, &Authority{Client: kube, Namespace: namespace}
	if certificates, keys, err := a.Load(t.Context()); len(certificates)+len(keys) > 0 || err != nil {
		t.Fatalf("of none: %q, %q, %v", certificates, keys, err)
	}
	if err := a.Save(t.Context(), []byte("c1"), []byte("k1")); err != nil {
		t.Fatal(err)
	}
	if err := b.Save(t.Context(), []byte("c2"), []byte("k2")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("made over one that stands: %v", err)
	}
	if _, _, err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Save(t.Context(), []byte("c3"), []byte("k3")); err != nil {
		t.Fatalf("by who wrote it last: %v", err)
	}
	err := b.Save(t.Context(), []byte("c4"), []byte("k4"))
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "weir-system/weir-authority") {
		t.Errorf("on top of an older one: %v", err)
	}
	if certificates, keys, err := b.Load(t.Context()); string(certificates) != "c3" || string(keys) != "k3" || err != nil {
		t.Errorf("%q, %q, %v", certificates, keys, err)
	}
}

func TestAnAuthorityThatCannotBeReadIsAnErrorAndNotNone(t *testing.T) {
	server, kube := serve(t)
	server.Fail(func(fleettest.Request) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, AuthoritySecret, errors.New("no right"))
	})
	if _, err := stream.OpenAuthority(t.Context(), &Authority{Client: kube, Namespace: namespace}, now); err == nil {
		t.Fatal("an authority was made without looking")
	}
	if writes := server.Writes(); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

// token stores a token and returns its text and record.
func token(t *testing.T, server *fleettest.APIServer, kube kubernetes.Interface, expires time.Time) (*Tokens, string, stream.Token) {
	t.Helper()
	text, record, err := stream.NewToken("c2", expires)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kube.CoreV1().Secrets(namespace).Create(t.Context(), TokenSecret(namespace, record), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	server.Requests()
	return &Tokens{Client: kube, Namespace: namespace}, text, record
}

func TestATokenReadsBackAsItWasStoredWithoutItsSecret(t *testing.T) {
	server, kube := serve(t)
	tokens, text, want := token(t, server, kube, now)
	got, err := tokens.Token(t.Context(), want.ID)
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	s, err := kube.CoreV1().Secrets(namespace).Get(t.Context(), tokenPrefix+want.ID, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(text, ".")
	for key, value := range s.Data {
		if secret == "" || strings.Contains(string(value), secret) {
			t.Errorf("key %s holds the token's secret", key)
		}
	}
	if _, err := tokens.Token(t.Context(), "unknown"); !errors.Is(err, stream.ErrNoToken) {
		t.Errorf("a token that is not there: %v", err)
	}
}

func TestATokenThatIsDamagedLetsNobodyIn(t *testing.T) {
	good := map[string][]byte{keyCluster: []byte("c2"), keyHash: []byte(hex.EncodeToString(make([]byte, sha256.Size))), keyExpires: []byte("2026-01-02T03:04:05Z")}
	cases := map[string]struct{ key, value, says string }{
		"hash too short": {keyHash, "abcd", "holds no hash"},
		"hash no hex":    {keyHash, strings.Repeat("x", 64), "holds no hash"},
		"no time":        {keyExpires, "tomorrow", "holds no time"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenPrefix + "x"}, Data: map[string][]byte{}}
			maps.Copy(s.Data, good)
			s.Data[c.key] = []byte(c.value)
			_, kube := serve(t, s)
			_, err := (&Tokens{Client: kube, Namespace: namespace}).Token(t.Context(), "x")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "join anew") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestATokenBurnsForOneKeyAlone(t *testing.T) {
	server, kube := serve(t)
	tokens, _, record := token(t, server, kube, now)
	const agents = 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	var in, used []int
	for i := range agents {
		wg.Go(func() {
			err := tokens.Burn(t.Context(), record.ID, [sha256.Size]byte{byte(i + 1)})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				in = append(in, i)
			case errors.Is(err, stream.ErrTokenUsed):
				used = append(used, i)
			default:
				t.Errorf("agent %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if len(in) != 1 || len(used) != agents-1 {
		t.Fatalf("in: %v, refused: %v", in, used)
	}
	if err := tokens.Burn(t.Context(), record.ID, [sha256.Size]byte{byte(in[0] + 1)}); err != nil {
		t.Errorf("the same key again, its answer was lost: %v", err)
	}
	if err := tokens.Burn(t.Context(), "unknown", [sha256.Size]byte{1}); !errors.Is(err, stream.ErrNoToken) {
		t.Errorf("a token that is not there: %v", err)
	}
}

func TestExpiredTokensAreSweptAndNoOtherSecretIs(t *testing.T) {
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "weir-join-like"}}
	broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tokenPrefix + "broken", Labels: map[string]string{LabelToken: "true"}}}
	server, kube := serve(t, other, broken)
	tokens, _, expired := token(t, server, kube, now.Add(-time.Second))
	_, _, fresh := token(t, server, kube, now.Add(time.Second))
	if err := tokens.Sweep(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	var left []string
	list, err := kube.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		left = append(left, s.Name)
	}
	if len(left) != 2 || !strings.Contains(strings.Join(left, " "), fresh.ID) || !strings.Contains(strings.Join(left, " "), "weir-join-like") {
		t.Errorf("left %v; expired was %s", left, expired.ID)
	}
}

func TestOfAClustersTokensOnlyTheKeptOneServesOn(t *testing.T) {
	server, kube := serve(t)
	tokens, _, old := token(t, server, kube, now)
	_, _, used := token(t, server, kube, now)
	_, _, kept := token(t, server, kube, now)
	_, other, err := stream.NewToken("c3", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kube.CoreV1().Secrets(namespace).Create(t.Context(), TokenSecret(namespace, other), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Burn(t.Context(), used.ID, [sha256.Size]byte{1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 0} {
		if gone, err := tokens.Revoke(t.Context(), "c2", kept.ID); gone != want || err != nil {
			t.Errorf("%d gone, want %d; %v", gone, want, err)
		}
	}
	for id, serves := range map[string]bool{old.ID: false, used.ID: false, kept.ID: true, other.ID: true} {
		if _, err := tokens.Token(t.Context(), id); errors.Is(err, stream.ErrNoToken) == serves {
			t.Errorf("token %s: %v, want it to serve: %t", id, err, serves)
		}
	}
	if err := tokens.Burn(t.Context(), old.ID, [sha256.Size]byte{1}); !errors.Is(err, stream.ErrNoToken) {
		t.Errorf("an agent with an old token: %v", err)
	}
	server.Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodDelete {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("no right"))
		}
		return nil
	})
	if _, err := tokens.Revoke(t.Context(), "c3", kept.ID); err == nil || !strings.Contains(err.Error(), "delete join token weir-join-"+other.ID) {
		t.Errorf("got %v", err)
	}
}

func TestASweepThatFailsSaysAtWhat(t *testing.T) {
	server, kube := serve(t)
	tokens, _, record := token(t, server, kube, now)
	server.Fail(func(r fleettest.Request) error {
		if r.Method == http.MethodDelete {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("no right"))
		}
		return nil
	})
	if err := tokens.Sweep(t.Context(), now.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "delete join token weir-join-"+record.ID) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsPublishedIsRead(t *testing.T) {
	_, kube := serve(t)
	if _, _, err := Published(t.Context(), kube, namespace); err == nil || !strings.Contains(err.Error(), "--namespace") {
		t.Errorf("before: %v", err)
	}
	for _, address := range []string{"hub:8443", "hub.example.com:443"} {
		if err := Publish(t.Context(), kube, namespace, address, []byte("pem")); err != nil {
			t.Fatal(err)
		}
		got, ca, err := Published(t.Context(), kube, namespace)
		if got != address || string(ca) != "pem" || err != nil {
			t.Errorf("%q, %q, %v", got, ca, err)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Published(stopped, kube, namespace); err == nil || !strings.Contains(err.Error(), "weir-system/weir-hub") {
		t.Errorf("of a hub that does not answer: %v", err)
	}
}
