// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/mesh/mcs"
	"github.com/weir-io/weir/resview/pb"
)

var serviceResource = corev1.SchemeGroupVersion.WithResource("services")

// standInWait is how long an agent may take to tell of a Service that stands in, and with it of the rules that others
// wrote for the host. One of an older build never tells.
const standInWait = 10 * time.Second

// madeStandIn is what became of a Service that was to stand in.
type madeStandIn struct {
	since time.Time // when it was first made, or not
	why   string    // why it does not stand; empty: it does
}

// rules are those that bear on the host in a member, as its agent tells them.
func (m memberView) rules() []*pb.Rule {
	if m.facts != nil {
		return m.facts.GetRules()
	}
	return m.standIn.GetRules()
}

// standInFor is the Service without a selector that a member gets which has none of the name: it gives clients there a
// name and an address, and the import its IP.
func standInFor(in *input, merged mcs.Import) admissionObject {
	return objectOf(serviceResource, mcs.StubService(in.key.Namespace, in.key.Name, merged))
}

func wantsStandIn(o order) bool {
	return slices.ContainsFunc(o.others, func(x admissionObject) bool { return x.ref.Resource == serviceResource })
}

// notStoodIn says where nothing stands in for the Service, and the way out.
func (in *input) notStoodIn() []string {
	var out []string
	for _, m := range in.rulesGoTo() {
		if made := in.standIns[m.name]; m.facts == nil && m.standIn == nil && made.why != "" {
			out = append(out, m.name+" "+made.why)
		}
	}
	return out
}

// standInsOf is what became of one service's Services that were to stand in.
func (r *Reconciler) standInsOf(key types.NamespacedName) map[string]madeStandIn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.stands[key])
}

// noteStandIn remembers what became of one. The lock is held.
func (r *Reconciler) noteStandIn(in *input, cluster, why string) {
	if r.stands == nil {
		r.stands = map[types.NamespacedName]map[string]madeStandIn{}
	}
	if r.stands[in.key] == nil {
		r.stands[in.key] = map[string]madeStandIn{}
	}
	if old, known := r.stands[in.key][cluster]; !known || old.why != why {
		r.stands[in.key][cluster] = madeStandIn{in.now, why}
	}
}

// applyExports writes the objects of the MCS API, and the Service that stands in. One that a user made is used as it is.
// It returns why nothing stands in where something should.
func applyExports(ctx context.Context, door *member.Member, o order) (why string, err error) {
	for _, x := range o.others {
		object := x.object.DeepCopy()
		unstructured.RemoveNestedField(object.Object, "status")
		var foreign *member.ForeignError
		_, err := door.Apply(ctx, FieldManager, x.ref, object)
		switch {
		case errors.As(err, &foreign) && x.ref.Resource == serviceResource:
			return fmt.Sprintf("has a Service %s/%s of its own that is not global: its pods answer calls by that name too; annotate it %s: \"true\" to let weir steer to it, or rename it",
				x.ref.Namespace, x.ref.Name, v1alpha1.AnnotationGlobal), nil
		case errors.As(err, &foreign):
			continue
		case apierrors.IsNotFound(err) && x.ref.Resource == serviceResource:
			return fmt.Sprintf("has no namespace %s: create it there, and clients there can call the service", x.ref.Namespace), nil
		case err != nil:
			return "", err
		case x.ref.Resource == serviceResource:
			continue // it has no status of ours
		}
		if err := door.ApplyStatus(ctx, FieldManager, x.ref, x.object); err != nil {
			return "", err
		}
	}
	return "", nil
}

// mayRemove says whether an object that bears weir's label is still weir's: over a Service that stood in, its owner may
// have applied his own.
func mayRemove(u *unstructured.Unstructured) bool {
	if u.GetKind() != "Service" {
		return true
	}
	selector, _, _ := unstructured.NestedMap(u.Object, "spec", "selector")
	return mcs.StandsIn(u.GetLabels(), u.GetAnnotations(), len(selector) > 0) && u.GetAnnotations()[v1alpha1.AnnotationGlobal] != "true"
}
