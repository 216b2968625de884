// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"github.com/weir-io/weir/resview/inventory"
	"github.com/weir-io/weir/resview/stream"
)

func TestIdentityOutlivesItsAgent(t *testing.T) {
	client := fake.NewClientset()
	vault := func() *Vault { return &Vault{Client: client, Namespace: "weir-system"} }
	first := vault()
	if got, err := first.Load(t.Context()); err != nil || got != (stream.Identity{}) {
		t.Fatalf("load of nothing: %v, %v", got, err)
	}
	for _, want := range []stream.Identity{
		{PendingKey: "k", PendingToken: "t"}, {Key: "k", Certificate: "c", CA: "ca", TokenID: "t"},
	} {
		if err := first.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := vault().Load(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("identity (-want +got):\n%s (%v)", diff, err)
		}
	}
}

func TestBrokenIdentityIsNotQuoted(t *testing.T) {
	client := fake.NewClientset(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "weir-system", Name: IdentitySecret}, Data: map[string][]byte{identityKey: []byte(`{"key": SECRET`)},
	})
	_, err := (&Vault{Client: client, Namespace: "weir-system"}).Load(t.Context())
	if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "delete the Secret") {
		t.Errorf("load: %v, want the way out without what the Secret holds", err)
	}
}

func TestProverTokenIsKeptForTwoThirdsOfItsLife(t *testing.T) {
	client := fake.NewClientset()
	made, life := 0, time.Hour
	client.PrependReactor("create", "serviceaccounts", func(action ktesting.Action) (bool, runtime.Object, error) {
		create := action.(ktesting.CreateActionImpl)
		request := create.GetObject().(*authv1.TokenRequest)
		if create.GetSubresource() != "token" || create.Name != proverAccount || create.GetNamespace() != "istio-system" || !cmp.Equal(request.Spec.Audiences, []string{"istio-ca"}) {
			return true, nil, errors.New("not the token that istiod wants")
		}
		made++
		request.Status = authv1.TokenRequestStatus{Token: strings.Repeat("x", made), ExpirationTimestamp: metav1.NewTime(time.Now().Add(life))}
		return true, request, nil
	})
	c := &Credentials{Client: client, Namespace: "istio-system"}
	token := func() string {
		got, err := c.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for range 2 {
		if got := token(); got != "x" {
			t.Errorf("token is %q, want the first one, kept", got)
		}
	}
	c.renews = time.Now().Add(-time.Second)
	life = 0
	for _, want := range []string{"xx", "xxx"} {
		if got := token(); got != want {
			t.Errorf("token is %q, want %q: the one before was due", got, want)
		}
	}
}

func TestMeshRootComesFromItsConfigMap(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "istio-ca-root-cert"}, Data: map[string]string{"root-cert.pem": "PEM"},
	})
	if got, err := (&Credentials{Client: client, Namespace: "istio-system"}).RootCA(t.Context()); err != nil || string(got) != "PEM" {
		t.Errorf("root is %q (%v)", got, err)
	}
	if _, err := (&Credentials{Client: client, Namespace: "elsewhere"}).RootCA(t.Context()); err == nil || !strings.Contains(err.Error(), "elsewhere/istio-ca-root-cert") {
		t.Errorf("a missing root gives %v, want its name", err)
	}
}

func TestProblemMakesOneEventEachTimeItAppears(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	r := &reporter{recorder: recorder}
	bad := inventory.Problem{Namespace: "shop", Name: "cart", UID: "u", Reason: "BadAnnotation", Message: "50% of it says nothing"}
	other := bad
	other.Message = strings.Repeat("ü", 2000)
	count := func(problems ...inventory.Problem) (texts []string) {
		r.report(problems)
		for {
			select {
			case text := <-recorder.Events:
				texts = append(texts, text)
			default:
				return texts
			}
		}
	}
	if got := count(bad); !cmp.Equal(got, []string{"Warning BadAnnotation 50% of it says nothing"}) {
		t.Errorf("first: %q", got)
	}
	if got := count(bad); len(got) != 0 {
		t.Errorf("unchanged: %q", got)
	}
	if got := count(bad, other); len(got) != 1 || len(got[0]) > maxNote+len("Warning BadAnnotation ") || strings.ContainsRune(got[0], '\uFFFD') {
		t.Errorf("another: %d events, the first of %d bytes", len(got), len(got[0]))
	}
	if got := count(other); len(got) != 0 {
		t.Errorf("one mended: %q", got)
	}
	if got := count(bad, other); len(got) != 1 {
		t.Errorf("appeared again: %q", got)
	}
}
