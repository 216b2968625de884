// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/rig/netns"
	"github.com/weir-io/weir/e2e/rig/process"
)

func TestThePartsAreTheRealOnes(t *testing.T) {
	if err := fleet.Audit(t.Context(), func(c rig.Check) { t.Log(c) }); err != nil {
		t.Error(err)
	}
}

func TestKilledPodsComeBackWithNewProcesses(t *testing.T) {
	c := cluster(t, "c2")
	deploy(t, c)
	before := containers(t, c)
	k, err := c.KillPods(t.Context(), "fleet-test", "app=echo")
	if err != nil {
		t.Fatal(err)
	}
	if len(k.Pods) != 2 || k.Gone.Before(k.Began) {
		t.Errorf("killed %+v, want two pods", k)
	}
	for name, pid := range before {
		if alive(t, pid) {
			t.Errorf("%s (%d) lives on", name, pid)
		}
	}
	eventually(t, "the pods run again", func() string {
		now := containers(t, c)
		for name, pid := range before {
			if now[name] == 0 || now[name] == pid {
				return name
			}
		}
		return ""
	})
	if err := c.WaitPodsReady(t.Context(), "fleet-test", "app=echo", 2, 2*time.Minute); err != nil {
		t.Error(err)
	}
}

func TestKilledApplicationsLeaveTheirSidecarsAlone(t *testing.T) {
	c := cluster(t, "c2")
	deploy(t, c)
	before := containers(t, c)
	if _, err := c.KillApps(t.Context(), "fleet-test", "app=echo"); err != nil {
		t.Fatal(err)
	}
	for name, pid := range before {
		if app := strings.HasSuffix(name, "/echo"); alive(t, pid) == app {
			t.Errorf("%s lives: %v, want %v", name, app, !app)
		}
	}
}

func TestAHeldAgentStandsStillWhileItsEnvoyRuns(t *testing.T) {
	c := cluster(t, "c2")
	deploy(t, c)
	var pod string
	var pid int
	for name, p := range containers(t, c) {
		if rest, ok := strings.CutSuffix(name, "/istio-proxy"); ok {
			pod, pid = rest, p
		}
	}
	if err := c.HoldAgent("fleet-test", pod); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the agent is stopped", func() string {
		all, err := process.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		envoy := ""
		for _, i := range process.Descendants(all, map[int]bool{pid: true}) {
			if i.Name == "envoy" && i.State != 'T' {
				envoy = "runs"
			}
		}
		for _, i := range all {
			if i.PID == pid && i.State == 'T' && envoy == "runs" {
				return ""
			}
		}
		return "the agent runs or Envoy does not"
	})
	if err := c.ReleaseAgent("fleet-test", pod); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitPodsReady(t.Context(), "fleet-test", "app=echo", 2, 2*time.Minute); err != nil {
		t.Error(err)
	}
}

func TestACutLinkIsSilentAndConnectionsOutliveIt(t *testing.T) {
	c := cluster(t, "c3")
	api := strings.TrimPrefix(c.Server(), "https://")
	conn, err := netns.Space{Name: "weir-outside"}.Dial(t.Context(), "tcp", api)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := c.CutLink(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !silent(t.Context(), api) {
		t.Error("the API server answers over a cut link")
	}
	if silent(t.Context(), strings.TrimPrefix(cluster(t, "c1").Server(), "https://")) {
		t.Error("another cluster is silent too")
	}
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the rig itself does not reach a cluster that is cut: %v", err)
	}
	for range 2 {
		if err := c.JoinLink(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// A server that speaks TLS answers nonsense by closing, so an answer shows that the old connection carries again.
	if _, err := conn.Write([]byte("nonsense\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 256)); n == 0 && isTimeout(err) {
		t.Error("the connection is dead after the link was joined")
	}
}

func TestAFrozenAPIServerTakesConnectionsAndAnswersNothing(t *testing.T) {
	c := cluster(t, "c3")
	if err := c.Freeze(rig.RoleAPIServer); err != nil {
		t.Fatal(err)
	}
	api := strings.TrimPrefix(c.Server(), "https://")
	conn, err := netns.Space{Name: "weir-outside"}.Dial(t.Context(), "tcp", api)
	if err != nil {
		t.Errorf("no connection: %v", err)
	} else {
		_, _ = conn.Write([]byte("nonsense\n"))
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := conn.Read(make([]byte, 1)); n > 0 || !isTimeout(err) {
			t.Errorf("it answers: %d bytes, %v", n, err)
		}
		conn.Close()
	}
	if err := c.Thaw(rig.RoleAPIServer); err != nil {
		t.Fatal(err)
	}
	client, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it answers again", func() string {
		if err := client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error(); err != nil {
			return err.Error()
		}
		return ""
	})
}

func TestAKilledAPIServerComesBackOnItsOwnDisk(t *testing.T) {
	c := cluster(t, "c3")
	if err := c.Apply(t.Context(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, namespace: default}\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(t.Context(), rig.RoleAPIServer); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context(), rig.RoleAPIServer); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, namespace: default}\n"); err != nil {
		t.Error(err)
	}
}

func TestPowerOffIsSilentAndOnlyTheDiskIsLeft(t *testing.T) {
	c := cluster(t, "c2")
	ledgers := deploy(t, c)
	written, err := os.ReadDir(ledgers)
	if err != nil || len(written) == 0 {
		t.Fatalf("ledgers %v, %v", written, err)
	}
	before := containers(t, c)
	if err := c.PowerOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !c.Off() {
		t.Error("it is not off")
	}
	for name, pid := range before {
		if alive(t, pid) {
			t.Errorf("%s lives on", name)
		}
	}
	for _, address := range []string{strings.TrimPrefix(c.Server(), "https://"), net.JoinHostPort(c.IngressIP(), "80")} {
		if !silent(t.Context(), address) {
			t.Errorf("%s is not silent", address)
		}
	}
	if _, err := c.Containers(); err == nil {
		t.Error("a cluster that is off lists containers")
	}
	if err := c.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, w := range written {
		if _, err := os.Stat(filepath.Join(ledgers, w.Name())); err != nil {
			t.Error(err)
		}
	}
	now := containers(t, c)
	for name, pid := range before {
		if now[name] == 0 || now[name] == pid {
			t.Errorf("%s has process %d, before %d", name, now[name], pid)
		}
	}
	if silent(t.Context(), net.JoinHostPort(c.IngressIP(), "80")) {
		t.Error("its gateway is silent after the power came back")
	}
}
