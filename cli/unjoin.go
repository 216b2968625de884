// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/unjoin"
)

// hubSilence is how long the hub may say nothing of a member that leaves before that is told.
const hubSilence = 20 * time.Second

type unjoinFlags struct {
	force, wait bool
	timeout     time.Duration
}

func newUnjoin(o *options) *cobra.Command {
	var f unjoinFlags
	cmd := &cobra.Command{
		Use:   "unjoin CLUSTER",
		Short: "Let a drained, empty cluster go, and take away what weir put there",
		Long: `unjoin lets a member go: weir takes away what it put there (copies of federated objects, routes and subsets, exports and
imports, Services that stand in, the fence on pods), then its ClusterDrain, its credentials and its Cluster on the hub.

The member has to be drained and empty first. Where it is not, nothing is changed, and what holds it is named with the way
out. Interrupting the wait leaves weir at work, and running unjoin again waits on.

--force gives up a member that is gone for good: nothing is asked of it any more, its replicas are placed elsewhere, and
what weir put there and could not take away is named. It is refused for a member that is heard.

Exit codes: 0 the member is gone from the hub, 1 refused or failed, 3 the time given by --timeout passed.`,
		Example: "  kubectl weir drain c2 && kubectl weir unjoin c2\n  kubectl weir unjoin c2 --force",
		Args:    exactly(1, "one cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notNegative(cmd, "timeout"); err != nil {
				return err
			}
			return runUnjoin(cmd.Context(), o, f, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "give up a member that is gone for good; what stays there is named")
	cmd.Flags().BoolVar(&f.wait, "wait", true, "wait until the member is gone from the hub")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long to wait; 0: for ever")
	return cmd
}

// unjoined is what unjoin reports.
type unjoined struct {
	Cluster string `json:"cluster"`
	// Unjoined says whether the member is gone from the hub.
	Unjoined bool `json:"unjoined"`
	Forced   bool `json:"forced"`
	// Step is the last one that was seen; empty: nothing was begun.
	Step string `json:"step,omitempty"`
	// Holds is what keeps the member: nothing was changed.
	Holds []unjoin.Hold `json:"holds"`
	// Left is what weir put into the member and could not take away, 50 at most, and LeftCount how many there are.
	Left      []string `json:"left"`
	LeftCount int32    `json:"leftCount"`
	// Next is what is left to do by hand.
	Next []string `json:"next"`
}

func runUnjoin(ctx context.Context, o *options, f unjoinFlags, name string, out, progress io.Writer) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	c, err := h.clusterNamed(ctx, name)
	if err != nil {
		return err
	}
	report := &unjoined{Cluster: name, Forced: f.force, Holds: []unjoin.Hold{}, Left: []string{}, Next: []string{}}
	if c.DeletionTimestamp.IsZero() {
		if report.Holds, err = h.holds(ctx, c, f.force); err != nil {
			return err
		}
		if len(report.Holds) > 0 {
			if err := report.print(o, out); err != nil {
				return err
			}
			return fmt.Errorf("cluster %q stays as it is, held by %s", name, many(len(report.Holds), "thing"))
		}
	}
	if report.Forced, err = h.askUnjoin(ctx, c, f.force); err != nil {
		return err
	}
	if f.wait {
		err = h.followUnjoin(ctx, c, f.timeout, report, progress)
	}
	if report.Unjoined {
		report.Next = next(c, report)
	}
	if perr := report.print(o, out); perr != nil {
		return perr
	}
	return err
}

// holds asks what keeps a member that stays so far.
func (h *hub) holds(ctx context.Context, c *v1alpha1.Cluster, force bool) ([]unjoin.Hold, error) {
	f := &unjoin.Fleet{Cluster: c}
	if force {
		return append([]unjoin.Hold{}, unjoin.HoldsForced(f)...), nil
	}
	var drains v1alpha1.ClusterDrainList
	var services v1alpha1.GlobalServiceList
	var bindings v1alpha1.ResourceBindingList
	var works v1alpha1.WorkList
	for _, l := range []struct {
		what string
		list client.ObjectList
		opts []client.ListOption
	}{
		{"cluster drains", &drains, nil},
		{"global services", &services, nil},
		{"resource bindings", &bindings, nil},
		{"works", &works, []client.ListOption{client.InNamespace(v1alpha1.MemberNamespace(c.Name))}},
	} {
		if err := h.List(ctx, l.list, l.opts...); err != nil {
			return nil, fmt.Errorf("list %s: %w", l.what, err)
		}
	}
	f.Drains, f.Services, f.Bindings, f.Works = drains.Items, services.Items, bindings.Items, works.Items
	return append([]unjoin.Hold{}, unjoin.Holds(f)...), nil
}

// askUnjoin writes the wish down, and only then deletes the Cluster: who is interrupted in between has changed nothing that
// counts. Of a Cluster that goes already it can only be made a wish by
// force, and it says whether it is one.
func (h *hub) askUnjoin(ctx context.Context, c *v1alpha1.Cluster, force bool) (bool, error) {
	going := !c.DeletionTimestamp.IsZero()
	if going && !controllerutil.ContainsFinalizer(c, v1alpha1.FinalizerUnjoin) {
		return false, fmt.Errorf("cluster %q is being deleted, and not by unjoin: what weir put there stays; see its finalizers (kubectl get clusters.federation.weir.io %s -o yaml)", c.Name, c.Name)
	}
	wished := c.DeepCopy()
	mode := v1alpha1.UnjoinClean
	if force || going && c.Annotations[v1alpha1.AnnotationUnjoin] == v1alpha1.UnjoinForce {
		mode = v1alpha1.UnjoinForce
	}
	metav1.SetMetaDataAnnotation(&wished.ObjectMeta, v1alpha1.AnnotationUnjoin, mode)
	marked := !going && controllerutil.AddFinalizer(wished, v1alpha1.FinalizerUnjoin)
	if marked || c.Annotations[v1alpha1.AnnotationUnjoin] != mode {
		if err := h.Patch(ctx, wished, client.MergeFromWithOptions(c, client.MergeFromWithOptimisticLock{})); err != nil {
			return false, fmt.Errorf("ask to let cluster %q go (nothing was taken away; try again): %w", c.Name, err)
		}
	}
	if going {
		return mode == v1alpha1.UnjoinForce, nil
	}
	if err := h.Delete(ctx, wished, client.Preconditions{UID: &c.UID}); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("delete cluster %q (nothing was taken away; try again): %w", c.Name, err)
	}
	return mode == v1alpha1.UnjoinForce, nil
}

// followUnjoin looks at a Cluster that goes until it is gone, and tells each thing that changes.
func (h *hub) followUnjoin(ctx context.Context, c *v1alpha1.Cluster, timeout time.Duration, report *unjoined, progress io.Writer) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	told := &teller{out: progress}
	for {
		line, gone := h.lookUnjoin(ctx, c, report)
		if gone {
			report.Unjoined = true
			return nil
		}
		if line != "" && ctx.Err() == nil {
			told.say(line)
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return &ExitError{ExitWaiting, fmt.Errorf("not done within %s; weir goes on, and kubectl weir unjoin %s waits on", timeout, c.Name)}
			}
			return fmt.Errorf("stopped waiting; weir goes on, and kubectl weir unjoin %s waits on: %w", c.Name, ctx.Err())
		case <-tick.C:
		}
	}
}

// lookUnjoin looks once at a Cluster that goes: it returns what there is to say, and whether it is gone.
func (h *hub) lookUnjoin(ctx context.Context, c *v1alpha1.Cluster, report *unjoined) (line string, gone bool) {
	var now v1alpha1.Cluster
	switch err := h.Get(ctx, client.ObjectKeyFromObject(c), &now); {
	case apierrors.IsNotFound(err) || err == nil && now.UID != c.UID:
		return "", true
	case err != nil:
		return fmt.Sprintf("the hub is asked again: read cluster %q: %s", c.Name, err), false
	case now.Status.Leaving != nil:
		report.see(now.Status.Leaving)
		return leavingLine(c.Name, now.Status.Leaving), false
	case now.DeletionTimestamp != nil && time.Since(now.DeletionTimestamp.Time) > hubSilence:
		return c.Name + ": the hub has not begun: see that it runs (kubectl -n weir-system get pods), and that it is no older than this command", false
	}
	return "", false
}

func (u *unjoined) see(l *v1alpha1.LeavingStatus) {
	u.Step = string(l.Step)
	if len(l.Left) > 0 {
		u.Left, u.LeftCount = l.Left, l.LeftCount
	}
}

// leavingLine says in one line how far a member is.
func leavingLine(name string, l *v1alpha1.LeavingStatus) string {
	line := name + " " + strings.ToLower(string(l.Step))
	for i, text := range l.Waiting {
		if i == 3 {
			return line + fmt.Sprintf("; and %d more", len(l.Waiting)-i)
		}
		line += "; " + plain(text, longestText)
	}
	return line
}

// next is what is left to do by hand: what the member's chart and join put there is not the hub's to take, and how the
// meshes know of each other was never weir's.
func next(c *v1alpha1.Cluster, report *unjoined) []string {
	out := []string{
		"in the member, remove its agent: helm uninstall weir-agent -n weir-system (another name or namespace, if join was told one)",
		"in the member, remove what join made: kubectl -n weir-system delete secrets -l app.kubernetes.io/managed-by=weir, and the Secret weir-agent-identity",
		"in the member, once the agent is gone, let it forget its hub, so that another may take it: kubectl delete federationepochs weir",
		fmt.Sprintf("on the hub, the namespace %s of its records is empty and may go: kubectl delete namespace %s --ignore-not-found", v1alpha1.MemberNamespace(c.Name), v1alpha1.MemberNamespace(c.Name)),
		fmt.Sprintf("in the other members, take its remote secret from istiod where there is one (istio-remote-secret-%s): until then their proxies may still hold endpoints there", c.IstioID()),
	}
	if len(report.Left) > 0 {
		out = append(out, "should the member ever come back, before it is used: kubectl delete virtualservices,destinationrules,serviceexports,serviceimports,services,deployments -A -l app.kubernetes.io/managed-by=weir; kubectl delete mutatingadmissionpolicybindings,mutatingadmissionpolicies -l app.kubernetes.io/managed-by=weir; kubectl label pods -A -l weir.io/fence istio.io/draining- weir.io/fence-")
	}
	return out
}

func (u *unjoined) print(o *options, out io.Writer) error {
	if o.output == "json" {
		return printJSON(out, u)
	}
	var b strings.Builder
	switch {
	case u.Unjoined:
		fmt.Fprintf(&b, "cluster %s is gone from the hub\n", u.Cluster)
	case len(u.Holds) > 0:
		fmt.Fprintf(&b, "cluster %s is held, and nothing was changed:\n", u.Cluster)
	default:
		fmt.Fprintf(&b, "cluster %s is on its way out\n", u.Cluster)
	}
	for _, h := range u.Holds {
		fmt.Fprintf(&b, "  %s %s: %s\n", h.Code, plain(h.Subject, longestText), plain(h.Message, longestText))
	}
	for _, l := range u.Left {
		fmt.Fprintf(&b, "  left in the member: %s\n", plain(l, longestText))
	}
	if more := int(u.LeftCount) - len(u.Left); more > 0 {
		fmt.Fprintf(&b, "  left in the member: and %d more\n", more)
	}
	for _, n := range u.Next {
		fmt.Fprintf(&b, "  next: %s\n", n)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
