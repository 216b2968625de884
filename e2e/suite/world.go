// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/rig"
)

// Rates of requests a second over all clients: of the demo, and of the load under the other tests, which runs for longer
// beside more.
const (
	demoRate = 80
	loadRate = 40
)

// World is the fleet of one package's tests, with what was put on it so far. Tests use it one after the other.
type World struct {
	topology rig.Topology
	fleet    *rig.Fleet
	weir     made[*product.Product]
	session  made[*demo.Session]
	pace     v1alpha1.ShiftPace // the one in force for the session
	// federated says that the session has a workload that weir divides too.
	federated bool
	// told is where the session tells what it does: the output of the test that uses it now.
	told output
}

// output passes on to the writer of now. A session outlives the test that opened it, whose own writer then is no more. It is safe
// for concurrent use.
type output struct {
	mu sync.Mutex
	to io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}

func (o *output) follow(to io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = to
}

// made is something that takes long to make and is made once. What could not be made fails every test that needs it.
type made[T any] struct {
	done  bool
	value T
	err   error
}

// New returns the world of a topology. Nothing runs before [World.Run].
func New(topology rig.Topology) *World { return &World{topology: topology} }

// Run joins the fleet that runs, or starts one, runs the tests, and ends what it started. It returns the exit code.
func (w *World) Run(m *testing.M) int {
	ctx := context.Background()
	fleet, started, err := rig.Ensure(ctx, rig.Options{
		Topology: w.topology, Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	w.fleet = fleet
	code := m.Run()
	err = w.closeSession(ctx)
	if started {
		err = errors.Join(err, fleet.Down(ctx))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Fleet is the fleet that the tests share.
func (w *World) Fleet() *rig.Fleet { return w.fleet }

// Cluster returns a cluster of the fleet.
func (w *World) Cluster(t *testing.T, name string) *rig.Cluster {
	t.Helper()
	c, err := w.fleet.Cluster(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Weir returns weir, installed from the source of now when it is asked for first.
func (w *World) Weir(t *testing.T) *product.Product {
	t.Helper()
	if !w.weir.done {
		w.weir.value, w.weir.err = w.install(t)
		w.weir.done = true
	}
	if w.weir.err != nil {
		t.Fatalf("weir is not installed: %v", w.weir.err)
	}
	return w.weir.value
}

// install installs weir. One member has the Gateway API before, as members may: weir must heed its routes.
func (w *World) install(t *testing.T) (*product.Product, error) {
	t.Helper()
	if err := w.Cluster(t, "c1").InstallGatewayAPI(t.Context()); err != nil {
		return nil, err
	}
	return product.Install(t.Context(), w.fleet, func(line string) { t.Log(line) }, demo.Namespace)
}

// load returns the application under load, deployed when it is asked for first. Federated asks for the workload that weir
// divides, beside the application; one that runs already is welcome where it is not asked for.
func (w *World) load(t *testing.T, federated bool) *demo.Session {
	t.Helper()
	weir := w.Weir(t)
	w.told.follow(t.Output())
	if federated && !w.federated {
		if err := w.closeSession(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.federated = true
	}
	if !w.session.done {
		w.session.value, w.session.err = w.open(t, weir)
		w.session.done = true
	}
	if w.session.err != nil {
		t.Fatalf("the application does not run: %v", w.session.err)
	}
	return w.session.value
}

func (w *World) open(t *testing.T, weir *product.Product) (*demo.Session, error) {
	t.Helper()
	// A Service whose policy is not there is not served.
	if err := w.applyPace(t.Context(), brisk); err != nil {
		return nil, err
	}
	session, err := demo.Open(t.Context(), w.fleet, weir, demo.Options{
		Rate: loadRate, Seed: 1, Out: &w.told, Federated: w.federated, Policy: policyName,
	})
	if err != nil {
		return nil, err
	}
	for _, c := range w.fleet.Members() {
		if err := Annotate(t.Context(), c, demo.Namespace, demo.Service, v1alpha1.AnnotationTrafficPolicy, policyName); err != nil {
			return nil, errors.Join(err, session.Close(context.WithoutCancel(t.Context())))
		}
	}
	return session, nil
}

// closeSession ends the load, if it runs, and gives the application's traffic back to weir's own policy.
func (w *World) closeSession(ctx context.Context) error {
	session := w.session.value
	w.session, w.pace, w.federated = made[*demo.Session]{}, v1alpha1.ShiftPace{}, false
	if session == nil {
		return nil
	}
	all := []error{session.Close(ctx)}
	for _, c := range w.fleet.Members() {
		if !c.Off() {
			all = append(all, Annotate(ctx, c, demo.Namespace, demo.Service, v1alpha1.AnnotationTrafficPolicy, ""))
		}
	}
	return errors.Join(all...)
}

// Demo plays the demo as make demo does, but on the tests' fleet. With weir it is the last that is played there: the cluster that
// it powers off stays without power. What it wrote is in e2e/out.
func (w *World) Demo(t *testing.T, mode demo.Mode) {
	t.Helper()
	w.told.follow(t.Output())
	if err := w.closeSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := demo.Options{Mode: mode, Rate: demoRate, Seed: 1, OutDir: filepath.Join("..", "..", "out"), Out: t.Output(), Keep: mode == demo.Naive}
	if mode == demo.Weir {
		o.Weir = w.Weir(t)
	} else if err := w.withoutWeir(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := demo.Run(t.Context(), w.fleet, o); err != nil {
		t.Error(err)
	}
	t.Logf("the demo took %s", time.Since(begin).Round(time.Second))
}

// withoutWeir is nil when weir is not on the fleet.
func (w *World) withoutWeir(ctx context.Context) error {
	client, err := w.fleet.Hub().Client()
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Namespaces().Get(ctx, product.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return errors.New("weir is on this fleet already, and the naive run must be without it: start a fresh fleet (make rig)")
	default:
		return fmt.Errorf("look for weir: %w", err)
	}
}
