// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/rig/netns"
)

var topology = flag.String("topology", string(rig.Flat), `the fleet to test: "flat" or "gateways"`)

// fleet is the one that all tests of the package share.
var fleet *rig.Fleet

func TestMain(m *testing.M) {
	flag.Parse()
	ctx := context.Background()
	f, started, err := rig.Ensure(ctx, rig.Options{
		Topology: rig.Topology(*topology), Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fleet = f
	code := m.Run()
	if started {
		if err := f.Down(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func cluster(t *testing.T, name string) *rig.Cluster {
	t.Helper()
	c, err := fleet.Cluster(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits until the condition holds; the text says what is missing.
func eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(2 * time.Minute)
	for {
		last := missing()
		if last == "" {
			return
		}
		select {
		case <-limit:
			t.Fatalf("%s: never, last: %s", what, last)
		case <-tick.C:
		}
	}
}

// silent says whether an address answers nothing at all, not even a refusal, to one who stands outside.
func silent(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := netns.Space{Name: "weir-outside"}.Dial(ctx, "tcp", address)
	if err == nil {
		conn.Close()
		return false
	}
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

const application = `apiVersion: v1
kind: Namespace
metadata: {name: fleet-test, labels: {istio-injection: enabled}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo, namespace: fleet-test}
spec:
  replicas: 2
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: echo
        image: weir.test/app:1
        imagePullPolicy: Never
        args: [serve, --ledger, %q, --cluster, %s]
        env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        volumeMounts: [{name: ledger, mountPath: %[1]q}]
      volumes: [{name: ledger, hostPath: {path: %[1]q}}]
`

// deploy runs an application of two pods in the cluster for one test and returns the folder of its ledgers on the node.
func deploy(t *testing.T, c *rig.Cluster) string {
	t.Helper()
	dir, err := c.HostDir("fleet-test")
	if err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(application, dir, c.Name)
	if err := c.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // The test's own context has ended here.
		defer cancel()
		if err := c.Delete(ctx, manifest); err != nil {
			t.Error(err)
		}
	})
	if err := c.WaitPodsReady(t.Context(), "fleet-test", "app=echo", 2, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	return dir
}

// containers returns the process numbers of the application's containers by name: "POD/CONTAINER".
func containers(t *testing.T, c *rig.Cluster) map[string]int {
	t.Helper()
	all, err := c.Containers()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]int)
	for _, one := range all {
		if one.Namespace == "fleet-test" {
			out[one.Pod+"/"+one.Name] = one.PID
		}
	}
	return out
}
