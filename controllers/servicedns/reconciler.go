// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servicedns

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/dns/zone"
	"github.com/weir-io/weir/dns/zone/names"
)

// FieldManager owns names and the condition Resolvable in a GlobalService's status.
const FieldManager = "weir-servicedns"

// Server answers from the table that was set last, and keeps on record what it answered.
type Server interface {
	// Set puts a table in force: no question that arrives after it returned is answered from the one before.
	Set(table *zone.Table)
	// Report says which table is in force, and what was answered that may still be cached.
	Report() zone.Report
}

// Reconciler keeps the names of every GlobalService.
type Reconciler struct {
	Client   client.Client
	Recorder events.EventRecorder
	Now      func() time.Time
	// Zone is the global zone, and Server who answers it. Nil, both: none is served, and only wishes for one are answered.
	Zone   *Zone
	Server Server

	inForce *zone.Document // without its serial; nil: none in this life of the hub
	serial  uint32
	general string // what was logged last
}

// Reconcile looks at all services at once.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	in, err := r.gather(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	wanted, err := in.plan()
	if err != nil {
		return ctrl.Result{}, err
	}
	r.remark(ctx, wanted.general)
	if err := r.serve(in); err != nil {
		return ctrl.Result{}, err
	}
	again, err := r.tellAll(ctx, in, wanted)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case again.IsZero():
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: max(again.Sub(in.now), 50*time.Millisecond)}, nil
}

// serve puts what is on record in force, if it is not yet.
func (r *Reconciler) serve(in *input) error {
	if in.zone == nil {
		return nil
	}
	doc, _ := names.Plan(in.fleet(true))
	if r.inForce != nil && reflect.DeepEqual(*r.inForce, doc) {
		return nil
	}
	numbered := doc
	numbered.Serial = r.nextSerial(in)
	table, err := compile(numbered)
	if err != nil {
		return err
	}
	r.Server.Set(table)
	r.serial, r.inForce = numbered.Serial, &doc
	return nil
}

// nextSerial is above every one that was, also of hubs before this one: by the clock, and by what they left on record.
func (r *Reconciler) nextSerial(in *input) uint32 {
	last := int64(r.serial)
	for i := range in.services {
		if in.services[i].Status.Names == nil {
			continue
		}
		for _, row := range in.services[i].Status.Names.Clusters {
			last = max(last, row.OutSerial)
		}
	}
	return uint32(min(max(last+1, in.now.Unix()), 1<<32-1)) //nolint:gosec // it is within bounds.
}

// remark logs what concerns no service, once.
func (r *Reconciler) remark(ctx context.Context, all []names.Reason) {
	said := make([]string, 0, len(all))
	for _, reason := range all {
		said = append(said, reason.Cluster+": "+reason.Message)
	}
	text := strings.Join(said, "; ")
	if text != r.general && text != "" {
		logf.FromContext(ctx).Info("names are not all as they were wished", "reasons", text)
	}
	r.general = text
}

// tellAll writes what is to be known of each service, and says when to look again.
func (r *Reconciler) tellAll(ctx context.Context, in *input, wanted *plan) (time.Time, error) {
	var again time.Time
	var failed []error
	served := wanted.describe()
	var report zone.Report
	if in.zone != nil {
		report = r.Server.Report()
	}
	for i := range in.services {
		gs := &in.services[i]
		key := client.ObjectKeyFromObject(gs)
		status := ownedStatus{}
		if c := conditionOf(gs, in.zone != nil, wanted.reasons[key]); c != nil {
			status.Conditions = append(status.Conditions, *c)
		}
		if in.zone != nil {
			s := standing{gs: gs, names: served[key], plan: wanted, serial: r.serial, report: report, now: in.now}
			status.Names = s.status()
			if !s.again.IsZero() && (again.IsZero() || s.again.Before(again)) {
				again = s.again
			}
		}
		switch err := r.tell(ctx, gs, status); {
		case apierrors.IsConflict(err):
			again = in.now // somebody wrote in between, which is an event as well
		case client.IgnoreNotFound(err) != nil:
			failed = append(failed, fmt.Errorf("global service %s: %w", key, err))
		}
	}
	return again, errors.Join(failed...)
}

// ownedStatus is the part of a GlobalService's status that this controller owns.
type ownedStatus struct {
	Conditions []metav1.Condition    `json:"conditions,omitempty"`
	Names      *v1alpha1.NamesStatus `json:"names,omitempty"`
}

func ownStatus(gs *v1alpha1.GlobalService) ownedStatus {
	out := ownedStatus{Names: gs.Status.Names}
	if c := meta.FindStatusCondition(gs.Status.Conditions, v1alpha1.ConditionResolvable); c != nil {
		out.Conditions = []metav1.Condition{*c}
	}
	return out
}

// tell writes a status where it differs from what stands, and says as an event what turned.
func (r *Reconciler) tell(ctx context.Context, gs *v1alpha1.GlobalService, status ownedStatus) error {
	before := ownStatus(gs)
	turned := false
	if len(status.Conditions) > 0 {
		turned = true
		conditions := append([]metav1.Condition(nil), before.Conditions...)
		if len(before.Conditions) > 0 {
			turned = before.Conditions[0].Status != status.Conditions[0].Status || before.Conditions[0].Reason != status.Conditions[0].Reason
		}
		meta.SetStatusCondition(&conditions, status.Conditions[0])
		status.Conditions = conditions
	}
	if equality.Semantic.DeepEqual(before, status) {
		return nil
	}
	if _, err := hub.ApplyStatus(ctx, r.Client, FieldManager, gs, gs.ResourceVersion, status); err != nil {
		return err
	}
	if c := status.Conditions; turned {
		kind := corev1.EventTypeNormal
		if c[0].Status == metav1.ConditionFalse {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(gs, nil, kind, c[0].Reason, c[0].Type, "%s", c[0].Message)
	}
	return nil
}
