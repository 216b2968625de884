// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// kindsExplained are the kinds that explain takes, by what people call them.
var kindsExplained = map[string]string{
	"fdep": "FederatedDeployment", "federateddeployment": "FederatedDeployment", "federateddeployments": "FederatedDeployment",
	"rb": "ResourceBinding", "resourcebinding": "ResourceBinding", "resourcebindings": "ResourceBinding",
	"gsvc": "GlobalService", "globalservice": "GlobalService", "globalservices": "GlobalService",
}

func newExplain(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "explain KIND NAMESPACE/NAME",
		Short: "Why is each replica where it is, and why is none elsewhere",
		Long: `explain says of a federated workload by which preference its replicas are divided, and for each member: how many replicas
were decided, are planned now, are applied and ready there; the version of the view that the decision used, and the view's
version and age now; whether the member is heard, is being drained, or has an autoscaler that owns the replicas; the reasons
that the scheduler gave, for members that got none among them; and what the shift waits for.

KIND is fdep (FederatedDeployment), rb (its ResourceBinding), or gsvc (GlobalService: the workloads behind it).

What a member said before contact was lost is no answer to what is there now: its numbers are ?, and what was seen last is
named with its age.`,
		Example: "  kubectl weir explain fdep shop/shop-api\n  kubectl weir explain rb shop/deployment-shop-api -o json\n  kubectl weir explain gsvc shop/shop-api",
		Args:    exactly(2, "a kind and NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, key, err := parseExplained(args)
			if err != nil {
				return err
			}
			e, err := o.explain(cmd.Context(), kind, key, time.Now())
			if err != nil {
				return err
			}
			if o.output == "json" {
				return printJSON(cmd.OutOrStdout(), e)
			}
			return e.write(cmd.OutOrStdout())
		},
	}
}

func parseExplained(args []string) (string, types.NamespacedName, error) {
	var key types.NamespacedName
	kind, ok := kindsExplained[strings.ToLower(args[0])]
	if !ok {
		return "", key, &ExitError{ExitUsage, fmt.Errorf("explain knows no kind %q: give fdep, rb or gsvc", args[0])}
	}
	key, err := namespaced("explain "+args[0], args[1])
	return kind, key, err
}

// namespaced reads NAMESPACE/NAME, which a verb was given.
func namespaced(verb, text string) (types.NamespacedName, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, &ExitError{ExitUsage, fmt.Errorf("%s %q: name it NAMESPACE/NAME (-n is weir's own namespace)", verb, text)}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// explanation is what explain prints. Its fields are stable.
type explanation struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Notes are what there is to say of the whole, such as that nothing was decided yet.
	Notes []string `json:"notes"`
	// Workloads are the federated workloads that it is about: one, or those behind a GlobalService.
	Workloads []explainedWorkload `json:"workloads"`
	// Traffic is where that of a GlobalService goes; absent for other kinds.
	Traffic []explainedTraffic `json:"traffic,omitempty"`
}

// explain reads what stands on the hub and puts it together.
func (o *options) explain(ctx context.Context, kind string, key types.NamespacedName, now time.Time) (*explanation, error) {
	h, err := o.hub()
	if err != nil {
		return nil, err
	}
	e := &explanation{Kind: kind, Namespace: key.Namespace, Name: key.Name, Notes: []string{}, Workloads: []explainedWorkload{}}
	f, err := h.fleet(ctx)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "GlobalService":
		return e, e.ofService(ctx, h, f, key, now)
	case "FederatedDeployment":
		var d v1alpha1.FederatedDeployment
		if err := h.named(ctx, key, &d, kind, "kubectl get fdep -A"); err != nil {
			return nil, err
		}
		b := f.binding(types.NamespacedName{Namespace: key.Namespace, Name: d.BindingName()})
		if b == nil {
			e.Notes = append(e.Notes, notTakenUp(&d)...)
			return e, nil
		}
		e.Workloads = append(e.Workloads, explainWorkload(f, b, &d, now))
	default:
		b := f.binding(key)
		if b == nil {
			return nil, fmt.Errorf("there is no ResourceBinding %s on this hub: kubectl get rb -A lists them", key)
		}
		d, err := h.workloadOf(ctx, b)
		if err != nil {
			return nil, err
		}
		e.Workloads = append(e.Workloads, explainWorkload(f, b, d, now))
	}
	return e, nil
}

// notTakenUp says of a federated workload that has no binding why it has none, as far as weir has said so.
func notTakenUp(d *v1alpha1.FederatedDeployment) []string {
	none := "weir has not taken it up yet: it has no ResourceBinding " + d.BindingName()
	ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return []string{none + "; if that stays, see its conditions and that the hub runs"}
	}
	why := fmt.Sprintf("Ready=False (%s): %s", ready.Reason, ready.Message)
	if ready.ObservedGeneration < d.Generation {
		why += fmt.Sprintf("; that is of generation %d, and it has changed since", ready.ObservedGeneration)
	}
	return []string{none, why}
}

// ofService explains the workloads behind a global service, and where its traffic goes.
func (e *explanation) ofService(ctx context.Context, h *hub, f *fleet, key types.NamespacedName, now time.Time) error {
	at := slices.IndexFunc(f.services, func(s v1alpha1.GlobalService) bool { return client.ObjectKeyFromObject(&s) == key })
	if at < 0 {
		return fmt.Errorf("there is no GlobalService %s on this hub: kubectl get gsvc -A lists them", key)
	}
	gs := &f.services[at]
	e.Traffic = trafficOf(f, gs, now)
	for _, name := range gs.Bindings() {
		namespace, short, _ := strings.Cut(name, "/")
		b := f.binding(types.NamespacedName{Namespace: namespace, Name: short})
		if b == nil {
			e.Notes = append(e.Notes, "a member names the ResourceBinding "+name+", which is not on this hub")
			continue
		}
		d, err := h.workloadOf(ctx, b)
		if err != nil {
			return err
		}
		e.Workloads = append(e.Workloads, explainWorkload(f, b, d, now))
	}
	if len(gs.Bindings()) == 0 {
		e.Notes = append(e.Notes, "weir divides no workload behind it: replicas are where their owners put them, and traffic follows them")
	}
	if len(gs.Bindings()) > 0 && gs.Binding() == "" {
		e.Notes = append(e.Notes, "other workloads are behind it too: weir moves its traffic as that of a plain Service, and takes no replica away")
	}
	return nil
}

// named reads an object, or says how to find the right name.
func (h *hub) named(ctx context.Context, key types.NamespacedName, o client.Object, kind, lists string) error {
	err := h.Get(ctx, key, o)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no %s %s on this hub: %s lists them", kind, key, lists)
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", kind, key, err)
	}
	return nil
}

// workloadOf is the federated workload that a binding is of; nil: it is gone.
func (h *hub) workloadOf(ctx context.Context, b *v1alpha1.ResourceBinding) (*v1alpha1.FederatedDeployment, error) {
	var d v1alpha1.FederatedDeployment
	key := types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Resource.Name}
	err := h.Get(ctx, key, &d)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // none is an answer.
	}
	if err != nil {
		return nil, fmt.Errorf("read FederatedDeployment %s: %w", key, err)
	}
	return &d, nil
}

func (f *fleet) binding(key types.NamespacedName) *v1alpha1.ResourceBinding {
	for i := range f.bindings {
		if b := &f.bindings[i]; b.Namespace == key.Namespace && b.Name == key.Name {
			return b
		}
	}
	return nil
}

// explainedTraffic is one member's part of a service's traffic, in thousandths. What nobody sees now is absent.
type explainedTraffic struct {
	Cluster   string                `json:"cluster"`
	Weight    v1alpha1.WeightStatus `json:"weight"`
	State     string                `json:"state"`
	Ready     *int32                `json:"ready,omitempty"`
	Fenced    *int32                `json:"fenced,omitempty"`
	Binding   string                `json:"binding,omitempty"`
	Workloads []string              `json:"workloads,omitempty"`
}

func trafficOf(f *fleet, gs *v1alpha1.GlobalService, now time.Time) []explainedTraffic {
	out := []explainedTraffic{}
	for _, c := range gs.Status.Clusters {
		t := explainedTraffic{Cluster: c.Name, Weight: c.Weight, State: stateUnknown, Binding: c.Binding, Workloads: c.Workloads}
		if f.sees(c.Name, now) && c.Sight == v1alpha1.SightSeen {
			ready, fenced := c.Ready, c.Fenced
			t.State, t.Ready, t.Fenced = stateKnown, &ready, &fenced
		}
		out = append(out, t)
	}
	return out
}

// sees says whether what the hub says of a member is how things are now.
func (f *fleet) sees(cluster string, now time.Time) bool {
	c := f.cluster(cluster)
	return c != nil && unknownBecause(c, now) == ""
}

func (e *explanation) write(out io.Writer) error {
	if _, err := fmt.Fprintf(out, "%s %s/%s\n", e.Kind, plain(e.Namespace, longestName), plain(e.Name, longestName)); err != nil {
		return err
	}
	for _, n := range plainAll(e.Notes) {
		_, _ = fmt.Fprintf(out, "  note:    %s\n", n)
	}
	if len(e.Traffic) > 0 {
		w := newTable(out)
		w.row()
		w.row("TRAFFIC TO", "WANTED", "WRITTEN", "IN USE", "READY", "FENCED", "OF")
		for _, t := range e.Traffic {
			of := append(slices.Clone(t.Workloads), t.Binding)
			of = slices.DeleteFunc(of, func(s string) bool { return s == "" })
			ready, fenced := "?", "?"
			if t.Ready != nil && t.Fenced != nil {
				ready, fenced = strconv.Itoa(int(*t.Ready)), strconv.Itoa(int(*t.Fenced))
			}
			w.row("  "+plain(t.Cluster, longestName), percent(t.Weight.Wanted), percent(t.Weight.Written), interval(t.Weight), ready, fenced, orDash(plain(strings.Join(of, ", "), longestText)))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for i := range e.Workloads {
		if err := e.Workloads[i].write(out); err != nil {
			return err
		}
	}
	return nil
}
