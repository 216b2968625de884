// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/weir-io/weir/cli"
	"github.com/weir-io/weir/controllers/election"
	"github.com/weir-io/weir/controllers/fleettest"
	"github.com/weir-io/weir/controllers/identity"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/controllers/tracing"
	"github.com/weir-io/weir/resview/stream"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestACommandLineThatCannotWorkIsRefusedByName(t *testing.T) {
	for _, name := range []string{"POD_NAMESPACE", "POD_NAME", "POD_UID", "POD_IP"} {
		t.Setenv(name, "")
	}
	agent := []string{"agent", "--hub", "h:1", "--cluster", "c1", "--hub-ca-file", "f", "--namespace", "n", "--pod-name", "p", "--pod-ip", "10.0.0.1"}
	without := func(flag string) []string {
		var out []string
		for i := 0; i < len(agent); i++ {
			if agent[i] == flag {
				i++
				continue
			}
			out = append(out, agent[i])
		}
		return out
	}
	cases := map[string]struct {
		args []string
		says string
	}{
		"log level":         {[]string{"hub", "--log-level", "loud"}, `--log-level "loud": want debug`},
		"no such command":   {[]string{"server"}, `"server"`},
		"an argument":       {[]string{"hub", "x"}, `"x"`},
		"no such flag":      {[]string{"hub", "--advertise", "h:1"}, "unknown flag: --advertise"},
		"no address":        {[]string{"hub"}, "--advertise-address is empty"},
		"no port":           {[]string{"hub", "--advertise-address", "hub"}, `--advertise-address "hub" is not host:port`},
		"sight too short":   {[]string{"hub", "--advertise-address", "h:1", "--sight-lost-after", "1ms"}, "--sight-lost-after 1ms is too short"},
		"budget below zero": {[]string{"hub", "--advertise-address", "h:1", "--budget-endpoints", "-1"}, "--budget-endpoints must not be negative"},
		"collector by URL":  {[]string{"hub", "--advertise-address", "h:1", "--otlp-endpoint", "http://collector:4317"}, `--otlp-endpoint "http://collector:4317" is not host:port`},
		"a bad zone":        {[]string{"hub", "--advertise-address", "h:1", "--dns-zone", "clusterset.local"}, "overlaps with clusterset.local"},
		"a bad name server": {[]string{"hub", "--advertise-address", "h:1", "--dns-zone", "g.example.com", "--dns-name-server", "ns.g.example.com=x"}, `"x" is no address`},
		"no zone to serve":  {[]string{"hub", "--advertise-address", "h:1", "--dns-name-server", "ns.example.com"}, "--dns-zone is not"},
		"nowhere to answer": {[]string{"hub", "--advertise-address", "h:1", "--dns-zone", "g.example.com", "--dns-listen", "here"}, `listen address "here" is not host:port`},
		"a lease too short": {[]string{"hub", "--advertise-address", "h:1", "--lease-duration", "10s"}, "--lease-duration 10s must be longer than --renew-deadline 10s"},
		"half a second":     {[]string{"hub", "--advertise-address", "h:1", "--lease-duration", "15500ms"}, "--lease-duration 15.5s: give whole seconds"},
		"renewed too late":  {[]string{"hub", "--advertise-address", "h:1", "--renew-deadline", "2s"}, "--renew-deadline 2s must be longer than --retry-period 2s"},
		"always trying":     {[]string{"hub", "--advertise-address", "h:1", "--retry-period", "1ms"}, "--retry-period 1ms is too short"},
		"no hub":            {without("--hub"), "--hub is empty"},
		"no cluster":        {without("--cluster"), "--cluster is empty"},
		"no authority":      {without("--hub-ca-file"), "--hub-ca-file is empty"},
		"no namespace":      {without("--namespace"), "--namespace is empty"},
		"no name":           {without("--pod-name"), "--pod-name is empty"},
		"no pod address":    {without("--pod-ip"), `--pod-ip "" is no address`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, c.args...); cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit %d: got %v", cli.ExitCode(err), err)
			}
		})
	}
}

func TestTheAgentTakesItsPlaceFromTheEnvironmentOfItsPod(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "weir-agent")
	t.Setenv("POD_NAME", "agent-0")
	t.Setenv("POD_IP", "10.0.0.7")
	out, err := run(t, "agent", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`(default "weir-agent")`, `(default "agent-0")`, `(default "10.0.0.7")`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

func TestTheVersionIsShown(t *testing.T) {
	if out, err := run(t, "--version"); err != nil || !strings.Contains(out, version) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestAProbeAnswersWithWhatIsWrong(t *testing.T) {
	var wrong error
	server := httptest.NewServer(probe(func() error { return wrong }))
	defer server.Close()
	get := func() (int, string) {
		response, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var b bytes.Buffer
		if _, err := b.ReadFrom(response.Body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, b.String()
	}
	if code, _ := get(); code != http.StatusOK {
		t.Errorf("well: %d", code)
	}
	wrong = errors.New("the inventory is not read yet")
	if code, body := get(); code != http.StatusServiceUnavailable || !strings.Contains(body, "the inventory is not read yet") {
		t.Errorf("unwell: %d %q", code, body)
	}
}

func TestServingEndsWithItsContextAndAnAddressThatIsTakenIsNamed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, "127.0.0.1:0", http.NotFoundHandler()) }()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("a stop is no error: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := serve(t.Context(), listener.Addr().String(), http.NotFoundHandler()); err == nil || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("got %v", err)
	}
	fresh := func(context.Context) error { return nil }
	if err := (link{address: listener.Addr().String(), rotate: fresh}).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "listen for agents on "+listener.Addr().String()) {
		t.Errorf("got %v", err)
	}
}

func TestAHubThatHasJustBegunToLeadReadsItsAuthorityAnewBeforeItLetsAgentsIn(t *testing.T) {
	down := errors.New("down")
	if err := (link{address: "127.0.0.1:0", rotate: func(context.Context) error { return down }}).Start(t.Context()); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheHubThatLeadsIsReady(t *testing.T) {
	lock := election.NewLock(fake.NewClientset(), "weir-system", election.Pod{Name: "hub-b", UID: "2"})
	elected := make(chan struct{})
	ready := leads(elected, lock)
	if err := ready(nil); err == nil || !strings.Contains(err.Error(), "Lease weir-system/weir-hub: this one stands by") {
		t.Errorf("got %v", err)
	}
	close(elected)
	if err := ready(nil); err != nil {
		t.Error(err)
	}
}

func TestATokenThatIsNotThereIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("id.secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		path, want string
		fails      bool
	}{
		"no file named": {"", "", false},
		"no file":       {file + "-gone", "", false},
		"a file":        {file, "id.secret", false},
		"a directory":   {filepath.Dir(file), "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := readToken(c.path)
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestTheVersionOfAnAPIServerThatDoesNotAnswerIsUnknown(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = w.Write([]byte(`{"gitVersion": "v1.34.1"}`))
		}
	}))
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got := serverVersion(t.Context(), kube); got != "v1.34.1" {
		t.Errorf("got %q", got)
	}
	server.Close()
	if got := serverVersion(t.Context(), kube); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestExpiredTokensAreSweptEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		_, record, err := stream.NewToken("c1", time.Now().Add(90*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		secret := identity.TokenSecret("weir-system", record)
		secret.Data = map[string][]byte{}
		for k, v := range secret.StringData {
			secret.Data[k] = []byte(v)
		}
		if _, err := kube.CoreV1().Secrets("weir-system").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		left := func() int {
			list, err := kube.CoreV1().Secrets("weir-system").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return len(list.Items)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- sweeper{&identity.Tokens{Client: kube, Namespace: "weir-system"}}.Start(ctx) }()
		time.Sleep(89 * time.Minute) //nolint:forbidigo // fake time.
		if left() != 1 {
			t.Error("a token that may be used is gone")
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // fake time.
		if left() != 0 {
			t.Error("a token that has expired is still there")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTheAuthorityIsLookedAfterEveryDayWhateverFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- rotator{func(context.Context) error {
				times++
				return errors.New("down")
			}}.Start(ctx)
		}()
		time.Sleep(3*24*time.Hour + time.Minute) //nolint:forbidigo // fake time.
		stop()
		if err := <-ended; err != nil || times != 3 {
			t.Errorf("%d times, %v", times, err)
		}
	})
}

func TestTheHubPublishesWhereItIsAndWhomToTrust(t *testing.T) {
	kube := fake.NewClientset()
	o := hubOptions{namespace: "weir-system", advertise: "hub.example.com:443"}
	server, rotate, err := newLink(t.Context(), o, kube, "hub-1", prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil || server == nil {
		t.Fatal(err)
	}
	address, ca, err := identity.Published(t.Context(), kube, "weir-system")
	if address != o.advertise || !bytes.Contains(ca, []byte("BEGIN CERTIFICATE")) || err != nil {
		t.Errorf("%q, %q, %v", address, ca, err)
	}
	if err := rotate(t.Context()); err != nil {
		t.Error(err)
	}
	_, again, _ := identity.Published(t.Context(), kube, "weir-system")
	if !bytes.Equal(ca, again) {
		t.Error("a young authority was replaced")
	}
}

func TestAHubThatCannotTellWhoItIsDoesNotStart(t *testing.T) {
	if _, err := hubUID(t.Context(), fake.NewClientset()); err == nil || !strings.Contains(err.Error(), "kube-system") {
		t.Errorf("got %v", err)
	}
	known := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "hub-1"}})
	if uid, err := hubUID(t.Context(), known); uid != "hub-1" || err != nil {
		t.Errorf("%q, %v", uid, err)
	}
	kube := fake.NewClientset()
	kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("down") })
	if _, _, err := newLink(t.Context(), hubOptions{namespace: "weir-system", advertise: "h:1"}, kube, "hub-1", prometheus.NewRegistry(), nil); err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("got %v", err)
	}
}

// ownProcess is set in a process that was started for one test.
const ownProcess = "WEIR_TEST_OWN_PROCESS"

// inOwnProcess says whether the test runs in a process that was started for it; otherwise it starts one and waits for its
// end. Controller-runtime lets each name of a controller be used once in the life of a process.
func inOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownProcess) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count", "1")
	cmd.Env = append(os.Environ(), ownProcess+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func TestEveryControllerCanBeAddedToTheHub(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(fleettest.NewAPIServer(t).Kubeconfig("t"))
	if err != nil {
		t.Fatal(err)
	}
	o := hubOptions{namespace: "weir-system", metrics: "0", health: "0", sightLost: time.Minute}
	o.names = namesOptions{zone: "global.example.com", servers: []string{"ns.example.net"}, ttl: 5 * time.Second, listen: []string{"127.0.0.1:0"}}
	answered, err := newNames(o.names, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil || answered.handlers()["/answers"] == nil {
		t.Fatal(err)
	}
	lock, err := o.leader.lock(config, o.namespace)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newManager(o, answered, config, lock)
	if err != nil {
		t.Fatal(err)
	}
	term := member.NewTerm("hub-1", &fleettest.Epochs{})
	wire := fleettest.NewLink(t)
	if err := addControllers(m, o, nil, answered, wire.Server, term, tracing.New(sdktrace.NewTracerProvider())); err != nil {
		t.Error(err)
	}
	if err := addControllers(m, o, nil, answered, wire.Server, term, nil); err == nil || !strings.Contains(err.Error(), "start controller") {
		t.Errorf("twice the same: %v", err)
	}
}

func TestTracesGoToACollectorOnlyWhereOneIsNamed(t *testing.T) {
	for endpoint, o := range map[string]hubOptions{"none": {}, "one": {otlpEndpoint: "127.0.0.1:1", otlpInsecure: true}} {
		provider, err := newTraces(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", endpoint, err)
		}
		_, span := provider.Tracer("x").Start(t.Context(), "y")
		if !span.SpanContext().IsSampled() {
			t.Errorf("%s: a span of a drain may be left out", endpoint)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nobody waits for the collector that is not there
		_ = provider.Shutdown(ctx)
	}
}
