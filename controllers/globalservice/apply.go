// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/mesh/istio"
)

// FieldManager owns what this controller writes, on the hub and in members.
const FieldManager = istio.FieldManager

var (
	virtualServiceResource  = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "virtualservices"}
	destinationRuleResource = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "destinationrules"}
)

// order is everything that shall be done in one member.
type order struct {
	member memberView
	rules  []map[string]any // to stand, DestinationRules first
	remove []member.Ref     // not to stand, VirtualServices first
	labels []podLabel
	fence  bool // new pods come up fenced
	others []admissionObject
	drain  *v1alpha1.ClusterDrain // the move it serves, for its trace; may be nil
}

// failures are what could not be carried out, by member: rules and fences apart from exports, which no traffic waits for.
// standIns says of each Service that was to stand in why it does not; empty: it does.
type failures struct {
	rules, exports map[string]error
	standIns       map[string]string
}

// applyAll carries out the orders, all members at once.
func (r *Reconciler) applyAll(ctx context.Context, in *input, orders []order) failures {
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		failed = failures{map[string]error{}, map[string]error{}, map[string]string{}}
	)
	for _, o := range orders {
		wg.Go(func() {
			standIn, rules, exports := r.apply(ctx, in, o)
			mu.Lock()
			defer mu.Unlock()
			if exports == nil && wantsStandIn(o) {
				failed.standIns[o.member.name] = standIn
			}
			if rules != nil {
				failed.rules[o.member.name] = rules
			}
			if exports != nil {
				failed.exports[o.member.name] = exports
			}
		})
	}
	wg.Wait()
	return failed
}

// Limits of one order in one member. Others wait for it, so that a member whose API server answers each request just in
// time must not hold them for as long as it has requests to answer.
const (
	orderTime    = 15 * time.Second
	labelTime    = 80 * time.Millisecond // on top, for each label: what the door's rate allows for, shared by looksAtOnce
	longestOrder = time.Minute
)

func (r *Reconciler) timeOf(o order) time.Duration {
	if r.orderTime > 0 {
		return r.orderTime
	}
	return min(orderTime+time.Duration(len(o.labels))*labelTime, longestOrder)
}

// apply carries out one order. One that is not done in time is broken off, and the member left alone for a while: what was
// done of it stands, and the rest is due at a later look.
func (r *Reconciler) apply(ctx context.Context, in *input, o order) (standIn string, rules, exports error) {
	door, err := r.Door.Open(ctx, o.member.cluster)
	if err != nil {
		return "", err, err
	}
	timed, cancel := context.WithTimeout(ctx, r.timeOf(o))
	defer cancel()
	rules = r.applyRules(timed, in, door, o)
	standIn, exports = applyExports(timed, door, o)
	if errors.Is(timed.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		door.Overran()
	}
	return standIn, rules, exports
}

// applyRules writes rules and fences: what traffic hangs on.
func (r *Reconciler) applyRules(ctx context.Context, in *input, door *member.Member, o order) error {
	wrote := func(what string) func(error) {
		_, end := r.Tracer.Write(ctx, o.drain, o.member.name, what)
		return end
	}
	for _, rule := range o.rules {
		ref, err := refOf(rule)
		if err != nil {
			return err
		}
		end := wrote(ref.String())
		changed, err := door.Apply(ctx, FieldManager, ref, &unstructured.Unstructured{Object: rule})
		if changed || err != nil {
			end(err)
		}
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("cluster %q: there is no namespace %s, so the rules that its clients need cannot stand: create it there", o.member.name, in.key.Namespace)
		}
		if err != nil {
			return err
		}
	}
	for _, ref := range o.remove {
		_, err := door.DeleteIf(ctx, ref, mayRemove)
		if apierrors.IsForbidden(err) && ref.Resource == serviceResource {
			continue // an older agent's release grants no right to Services, so none of ours is there
		}
		if err != nil {
			return err
		}
	}
	return r.applyFence(ctx, in, door, o, wrote)
}

// applyFence shuts the entry before it fences what runs, and opens it before it takes a fence off, so that no pod
// comes up on the wrong side of a change.
func (r *Reconciler) applyFence(ctx context.Context, in *input, door *member.Member, o order, wrote func(string) func(error)) error {
	if o.member.facts == nil && o.fence {
		return nil // which pods to fence is not known now; what stands stays
	}
	objects := admission(in.key, o.member.facts.GetSelector())
	if o.fence {
		for _, x := range objects {
			if _, err := door.Apply(ctx, FieldManager, x.ref, x.object); err != nil {
				return err
			}
		}
	} else {
		slices.Reverse(objects)
		for _, x := range objects {
			if _, err := door.Delete(ctx, x.ref); err != nil {
				return err
			}
		}
	}
	var errs []error
	for _, l := range o.labels {
		end := wrote(fmt.Sprintf("label %s of pod %s", l.key, l.name))
		err := door.LabelPod(ctx, FieldManager, in.key.Namespace, l.name, l.uid, l.key, l.value, l.annotations())
		end(err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func refOf(rule map[string]any) (member.Ref, error) {
	u := unstructured.Unstructured{Object: rule}
	ref := member.Ref{Namespace: u.GetNamespace(), Name: u.GetName()}
	switch u.GetKind() {
	case "VirtualService":
		ref.Resource = virtualServiceResource
	case "DestinationRule":
		ref.Resource = destinationRuleResource
	default:
		return ref, fmt.Errorf("rule %s: no resource is known for kind %s", u.GetName(), u.GetKind())
	}
	return ref, nil
}

// ruleRefs names the rules that a service may have in a member, VirtualServices first: the order of removal.
func ruleRefs(in *input) []member.Ref {
	name := istio.ObjectName(in.key.Name, false)
	return []member.Ref{
		{Resource: virtualServiceResource, Namespace: in.key.Namespace, Name: name},
		{Resource: destinationRuleResource, Namespace: in.key.Namespace, Name: name},
	}
}

// exportRefs names what weir made of the MCS API for a service.
func exportRefs(in *input) []member.Ref {
	return []member.Ref{
		{Resource: exportResource, Namespace: in.key.Namespace, Name: in.key.Name},
		{Resource: importResource, Namespace: in.key.Namespace, Name: in.key.Name},
		{Resource: serviceResource, Namespace: in.key.Namespace, Name: in.key.Name},
	}
}

// short keeps an error of a cluster fit for a status that names the cluster already: one line.
func short(cluster string, err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return hub.Clip(strings.TrimPrefix(s, fmt.Sprintf("cluster %q: ", cluster)), 240)
}
