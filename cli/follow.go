// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// errVanished means that a drain was deleted, which ends it.
var errVanished = errors.New("was deleted while it was waited for")

// lookEvery is how often a command that waits looks again.
const lookEvery = 500 * time.Millisecond

// teller tells each line that is not the one it told last, and each notice once.
type teller struct {
	out   io.Writer
	last  string
	noted map[string]bool
}

func (t *teller) say(line string) {
	if line != t.last {
		_, _ = fmt.Fprintln(t.out, line)
		t.last = line
	}
}

// follow looks at a drain until done says so, and prints each thing that changes. A hub that does not answer for a
// while is waited for: what was asked for stands in the object.
func (h *hub) follow(ctx context.Context, d *v1alpha1.ClusterDrain, timeout time.Duration, progress *teller,
	done func(*v1alpha1.ClusterDrain) (bool, error),
) (*v1alpha1.ClusterDrain, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		var now v1alpha1.ClusterDrain
		err := h.Get(ctx, client.ObjectKeyFromObject(d), &now)
		switch {
		case apierrors.IsNotFound(err):
			return d, fmt.Errorf("ClusterDrain %q %w", d.Name, errVanished)
		case err == nil:
			d = &now
			progress.notices(d)
			progress.say(progressLine(d))
			if ok, err := done(d); ok || err != nil {
				return d, err
			}
		case ctx.Err() == nil:
			progress.say(fmt.Sprintf("the hub is asked again: read ClusterDrain %q: %s", d.Name, err))
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return d, &ExitError{ExitWaiting, fmt.Errorf("not done within %s; weir goes on, kubectl weir status says what it waits for", timeout)}
			}
			return d, fmt.Errorf("stopped waiting; weir goes on, kubectl weir status says what it waits for: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// notices tells, once for each service, that a drain costs headroom. The drain does not wait for it, unless its progress
// says so.
func (t *teller) notices(d *v1alpha1.ClusterDrain) {
	if t.noted == nil {
		t.noted = map[string]bool{}
	}
	for _, s := range d.Status.Services {
		key := s.Namespace + "/" + s.Name
		waited := func(b v1alpha1.Blocker) bool { return b.Code == "HeadroomLost" }
		if s.Headroom != "" && !t.noted[key] && !slices.ContainsFunc(s.Blocked, waited) {
			t.noted[key] = true
			_, _ = fmt.Fprintf(t.out, "note: %s %s\n", key, s.Headroom)
		}
	}
}

// progressLine says in one line how far a drain is and what its services wait for.
func progressLine(d *v1alpha1.ClusterDrain) string {
	goal := strings.ToLower(string(d.Status.Goal))
	switch {
	case goal == "" && d.Spec.Desired == v1alpha1.InService:
		goal = "in service"
	case goal == "":
		goal = "waiting to begin"
	default:
		goal += ": " + d.Status.Progress
	}
	parts := []string{d.Spec.ClusterName + " " + goal}
	for _, s := range d.Status.Services {
		switch {
		case len(s.Blocked) > 0:
			parts = append(parts, fmt.Sprintf("%s/%s %s", s.Namespace, s.Name, s.Blocked[0].Message))
		case s.Step != "Done":
			parts = append(parts, fmt.Sprintf("%s/%s %s", s.Namespace, s.Name, s.Step))
		}
		if len(parts) == 4 {
			break
		}
	}
	return strings.Join(parts, "; ")
}

// printDrain prints how a drain stands.
func (o *options) printDrain(out io.Writer, d *v1alpha1.ClusterDrain) error {
	if o.output == "json" {
		whole := d.DeepCopy()
		whole.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterDrain")) // a client takes it off
		whole.ManagedFields = nil
		return printJSON(out, whole)
	}
	_, err := io.WriteString(out, drainText(d))
	return err
}

func drainText(d *v1alpha1.ClusterDrain) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s, wanted %s", d.Spec.ClusterName, d.Spec.Desired)
	if d.Status.Goal != "" {
		fmt.Fprintf(&b, ", %s %s", d.Status.Goal, d.Status.Progress)
	}
	b.WriteString("\n")
	for _, c := range d.Status.Conditions {
		fmt.Fprintf(&b, "  %s=%s (%s) %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, s := range d.Status.Services {
		if s.Headroom != "" {
			fmt.Fprintf(&b, "  HeadroomLost %s/%s: %s\n", s.Namespace, s.Name, s.Headroom)
		}
	}
	for _, w := range d.Status.UnownedWorkloads {
		fmt.Fprintf(&b, "  unownedWorkload %s\n", w)
	}
	for _, c := range d.Status.UnmeshedCallers {
		fmt.Fprintf(&b, "  unmeshedCaller %s\n", c)
	}
	if d.Status.SafeToPowerOff != nil {
		fmt.Fprintf(&b, "  safeToPowerOff: %t\n", *d.Status.SafeToPowerOff)
	}
	return b.String()
}
