// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched/override"
)

// LabelWorkload is on the pods of a FederatedDeployment whose template has no selector. Its value is the name.
const LabelWorkload = "weir.io/workload"

// copied is a kind of which members hold copies.
type copied struct {
	kind     string
	resource schema.GroupVersionResource
	typed    func() any // an empty object of it, to compare by
}

var (
	deployments = copied{"Deployment", appsv1.SchemeGroupVersion.WithResource("deployments"), func() any { return &appsv1.Deployment{} }}
	// autoscalers are no copies: of them weir writes the limits in a drain.
	autoscalers = copied{"HorizontalPodAutoscaler", scalers, func() any { return &autoscalingv2.HorizontalPodAutoscaler{} }}
	services    = copied{"Service", corev1.SchemeGroupVersion.WithResource("services"), func() any { return &corev1.Service{} }}
)

func (c copied) gvk() schema.GroupVersionKind { return c.resource.GroupVersion().WithKind(c.kind) }

// renderDeployment is what a member shall hold of a federated workload, with the replicas planned there. The errors name
// fields of the FederatedDeployment.
func renderDeployment(d *v1alpha1.FederatedDeployment, cluster string, replicas int32) (*unstructured.Unstructured, field.ErrorList) {
	if _, errs := d.Deployment(); len(errs) > 0 {
		return nil, errs
	}
	if _, errs := override.Deployment(d, cluster); len(errs) > 0 {
		return nil, errs
	}
	var spec map[string]any
	if err := recode(d.Spec.Template.Spec, &spec); err != nil {
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec", "template", "spec"), err)}
	}
	selected(spec, d.Name)
	out, errs := rendered(deployments, d.Namespace, d.Name, d.Spec.Template.Metadata, spec, d.Spec.Overrides, cluster)
	if len(errs) > 0 {
		return nil, errs
	}
	setReplicas(out, replicas)
	annotations := maps.Clone(out.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationBinding] = d.Namespace + "/" + d.BindingName()
	out.SetAnnotations(annotations)
	return out, nil
}

// renderService is what a member shall hold of a FederatedService.
func renderService(s *v1alpha1.FederatedService, cluster string) (*unstructured.Unstructured, field.ErrorList) {
	if _, errs := s.Service(); len(errs) > 0 {
		return nil, errs
	}
	if _, errs := override.Service(s, cluster); len(errs) > 0 {
		return nil, errs
	}
	var spec map[string]any
	if err := json.Unmarshal(s.Spec.Template.Spec.Raw, &spec); err != nil {
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec", "template", "spec"), err)}
	}
	return rendered(services, s.Namespace, s.Name, s.Spec.Template.Metadata, spec, s.Spec.Overrides, cluster)
}

func rendered(c copied, namespace, name string, meta v1alpha1.TemplateMeta, spec map[string]any, overrides []v1alpha1.ClusterOverride, cluster string) (*unstructured.Unstructured, field.ErrorList) {
	object := map[string]any{"metadata": map[string]any{}, "spec": spec}
	if changes, path := override.For(overrides, cluster); path != nil {
		// The labels and annotations that overrides change are those of the template.
		object["metadata"] = plainMeta(meta)
		changed, errs := override.Apply(object, changes, path)
		if len(errs) > 0 {
			return nil, errs
		}
		object = changed
	} else {
		object["metadata"] = plainMeta(meta)
	}
	u := &unstructured.Unstructured{}
	if err := recode(object, &u.Object); err != nil {
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec", "overrides"), err)}
	}
	u.SetGroupVersionKind(c.gvk())
	u.SetNamespace(namespace)
	u.SetName(name)
	return u, nil
}

func plainMeta(meta v1alpha1.TemplateMeta) map[string]any {
	out := map[string]any{}
	for key, values := range map[string]map[string]string{"labels": meta.Labels, "annotations": meta.Annotations} {
		if len(values) == 0 {
			continue
		}
		plain := map[string]any{}
		for k, v := range values {
			plain[k] = v
		}
		out[key] = plain
	}
	return out
}

// selected fills in what a Deployment cannot be without: a selector, and on the pods the labels that it matches. A selector
// that is there is kept; one that is missing is on a label of weir's own, since it can never be changed, and users change
// labels.
func selected(spec map[string]any, name string) {
	selector, _ := spec["selector"].(map[string]any)
	if len(selector) == 0 {
		selector = map[string]any{"matchLabels": map[string]any{LabelWorkload: name}}
		spec["selector"] = selector
	}
	wanted, _ := selector["matchLabels"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	if template == nil || len(wanted) == 0 {
		return
	}
	meta, _ := template["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	labels, _ := meta["labels"].(map[string]any)
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]any{}
	}
	for k, v := range wanted {
		if _, there := labels[k]; !there {
			labels[k] = v
		}
	}
	meta["labels"] = labels
	template["metadata"] = meta
}

func setReplicas(u *unstructured.Unstructured, n int32) {
	spec, _ := u.Object["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		u.Object["spec"] = spec
	}
	spec["replicas"] = int64(n)
}

// replicasOf is how many replicas a Deployment asks for.
func replicasOf(u *unstructured.Unstructured) int32 {
	n, found, err := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !found || err != nil {
		return v1alpha1.DefaultReplicas
	}
	return bounded(n)
}

// most is how many replicas count at most, in what a member says: as many as a template may want.
const most = 1_000_000

// bounded is a number of replicas that others may add up: a member says what it likes.
func bounded[N int32 | int64](n N) int32 { return int32(min(max(n, 0), most)) }

// recode turns a value into another type by its JSON. Whole numbers stay whole.
func recode(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return decode(raw, to)
}
