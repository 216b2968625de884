// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/weir-io/weir/controllers/fleettest"
)

// kubeconfig is one with a place and a user of these fields, in YAML's flow style.
func kubeconfig(place, user string) []byte {
	return fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: x,
  clusters: [{name: x, cluster: {%s}}], users: [{name: x, user: {%s}}], contexts: [{name: x, context: {cluster: x, user: x}}]}`, place, user)
}

// A named pipe that nobody writes to holds whoever opens it for ever: these tests end because no file is opened.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOfAKubeconfigOnlyTheCredentialsAreTakenAndWhatAsksForMoreIsRefused(t *testing.T) {
	const token = "token: s3cr3t"
	file := pipe(t)
	cases := map[string]struct {
		kubeconfig []byte
		says       string
	}{
		"a program":                   {kubeconfig("", token+", exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, interactiveMode: Never}"), "runs a program for its credentials (exec)"},
		"an auth provider":            {kubeconfig("", token+", auth-provider: {name: gcp}"), "auth-provider"},
		"a file with a token":         {kubeconfig("", token+", tokenFile: "+file), "names files (tokenFile"},
		"a file with a certificate":   {kubeconfig("", token+", client-certificate: "+file), "names files"},
		"a file with a key":           {kubeconfig("", token+", client-key: "+file), "names files"},
		"a file with a CA":            {kubeconfig("certificate-authority: "+file, token), "names files (certificate-authority)"},
		"another account":             {kubeconfig("", token+", as: admin"), "acts as somebody else (as)"},
		"another account's UID":       {kubeconfig("", token+", as-uid: '1'"), "acts as somebody else"},
		"another account's groups":    {kubeconfig("", token+", as-groups: ['system:masters']"), "acts as somebody else"},
		"another account's extras":    {kubeconfig("", token+", as-user-extra: {scopes: [all]}"), "acts as somebody else"},
		"a proxy":                     {kubeconfig(`proxy-url: "http://192.0.2.1:3128"`, token), "names a proxy (proxy-url): the hub dials spec.apiEndpoint"},
		"another name":                {kubeconfig("tls-server-name: example.com", token), "tls-server-name"},
		"both a program and a proxy":  {kubeconfig(`proxy-url: "http://192.0.2.1:3128"`, "exec: {command: /bin/sh}"), "exec"},
		"no credentials":              {kubeconfig("", ""), "has a user without credentials"},
		"a user who is not there":     {[]byte("{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {user: gone}}]}"), "has a user without credentials"},
		"a context that is not there": {[]byte("{apiVersion: v1, kind: Config, current-context: gone}"), "is no kubeconfig with a current context"},
		"nothing that is one":         {[]byte("token: s3cr3t ["), "is no kubeconfig"},
		"nothing, under the key":      {nil, `has no key "kubeconfig"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.setCredentials(t, c.kubeconfig)
			_, err := b.door.Open(t.Context(), b.cluster)
			if !errors.Is(err, ErrNoCredentials) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `cluster "c1"`) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%q gives the file away", err)
			}
			if requests := b.server.Requests(); len(requests) > 0 {
				t.Errorf("sent %+v", requests)
			}
		})
	}
}

func TestEachKindOfCredentialsIsShown(t *testing.T) {
	cases := map[string]struct {
		user string
		want string // the name, the password and the token of the client
	}{
		"a token":                {"token: hello", "::hello"},
		"a name and a password":  {"username: me, password: mine", "me:mine:"},
		"a client's certificate": {"client-certificate-data: YQ==, client-key-data: Yg==", "::"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			got, err := restConfig(b.cluster, credentials(kubeconfig("server: https://192.0.2.1", c.user)))
			if err != nil {
				t.Fatal(err)
			}
			if shown := got.Username + ":" + got.Password + ":" + got.BearerToken; shown != c.want || got.Host != b.server.URL || got.Insecure {
				t.Errorf("to %s: %q", got.Host, shown)
			}
			if strings.Contains(c.user, "certificate") != (string(got.CertData) == "a" && string(got.KeyData) == "b") {
				t.Errorf("certificate %q, key %q", got.CertData, got.KeyData)
			}
		})
	}
}

// Somebody who may write Secrets on the hub could use its place in the network to look around, or see what it sends.
func TestTheHubSpeaksToNobodyButTheClustersAPIServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var dialled atomic.Int32
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			dialled.Add(1)
			_ = conn.Close()
		}
	}()
	b := newBench(t)
	b.setCredentials(t, kubeconfig(fmt.Sprintf("server: %q", "https://"+listener.Addr().String()), "token: hello"))
	if err := b.ask(t); err != nil {
		t.Errorf("of the spec's server: %v", err)
	}
	b.setCredentials(t, kubeconfig(fmt.Sprintf("server: %q, proxy-url: %q", fleettest.NewAPIServer(t).URL, "http://"+listener.Addr().String()), "token: hello"))
	if m, err := b.door.Open(t.Context(), b.cluster); err == nil {
		_, _ = m.Delete(t.Context(), ruleRef)
		t.Error("a proxy was not refused")
	}
	_ = listener.Close()
	<-ended
	if n := dialled.Load(); n > 0 {
		t.Errorf("it was dialled %d times", n)
	}
}
