// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	gojson "encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxReplicas is the largest number of replicas that a template may want, or an override pin.
const maxReplicas = 1_000_000

// Where the parts of a federated object stand that no schema can check.
var (
	templateSpecPath = field.NewPath("spec", "template", "spec")
	overridesPath    = field.NewPath("spec", "overrides")
)

// Deployment is the object that the template describes, named as the federated object, with the replicas that it wants
// over all members together, and neither selector nor labels filled in. The errors name fields: they are the user's to
// mend, and the condition Ready=False, reason InvalidTemplate.
//
// It is for looking at, by the scheduler for one. What goes to a member is made from the template as it was written.
func (d *FederatedDeployment) Deployment() (*appsv1.Deployment, field.ErrorList) {
	out := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: d.Spec.Template.Metadata.object(d.Namespace, d.Name),
	}
	data, err := gojson.Marshal(d.Spec.Template.Spec)
	if err != nil {
		return nil, field.ErrorList{field.InternalError(templateSpecPath, err)}
	}
	if errs := decodeStrict(data, &out.Spec, templateSpecPath, "Deployment"); len(errs) > 0 {
		return nil, errs
	}
	pod := templateSpecPath.Child("template", "spec", "containers")
	if len(out.Spec.Template.Spec.Containers) == 0 {
		return nil, field.ErrorList{field.Required(pod, "name at least one container, with its image")}
	}
	return out, nil
}

// Pins are the parts of single members that overrides of /spec/replicas fix, in the order of the overrides. The errors
// name fields and are the condition Ready=False, reason InvalidOverride: a pin is a whole number, and all of them
// together are no more than the template wants.
func (d *FederatedDeployment) Pins() ([]ClusterReplicas, field.ErrorList) {
	var pins []ClusterReplicas
	var errs field.ErrorList
	var sum int64
	for i, o := range d.Spec.Overrides {
		for j, f := range o.ClusterOverrides {
			if f.Path != ReplicasPath {
				continue
			}
			path := overridesPath.Index(i).Child("clusterOverrides").Index(j).Child("value")
			var n int64
			if err := gojson.Unmarshal(f.Value.Raw, &n); err != nil || n < 0 || n > maxReplicas {
				errs = append(errs, field.Invalid(path, string(f.Value.Raw), fmt.Sprintf("replicas are a whole number from 0 to %d", maxReplicas)))
				continue
			}
			if sum += n; sum > int64(d.Wanted()) {
				errs = append(errs, field.Invalid(path, n, fmt.Sprintf(
					"with this, overrides pin %d replicas, but the template wants %d over all members: pin fewer, or raise spec.template.spec.replicas", sum, d.Wanted())))
			}
			pins = append(pins, ClusterReplicas{Name: o.ClusterName, Replicas: int32(n)})
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return pins, nil
}

// Validate says what is wrong with a FederatedDeployment that its schema admits.
func (d *FederatedDeployment) Validate() field.ErrorList {
	_, errs := d.Deployment()
	_, pins := d.Pins()
	return append(errs, pins...)
}

// Service is the object that the template describes, named as the federated object. The errors name fields: they are
// the user's to mend, and the condition Ready=False, reason InvalidTemplate.
func (s *FederatedService) Service() (*corev1.Service, field.ErrorList) {
	out := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: s.Spec.Template.Metadata.object(s.Namespace, s.Name),
	}
	if errs := decodeStrict(s.Spec.Template.Spec.Raw, &out.Spec, templateSpecPath, "Service"); len(errs) > 0 {
		return nil, errs
	}
	var errs field.ErrorList
	if out.Spec.Type == corev1.ServiceTypeExternalName {
		errs = append(errs, field.NotSupported(templateSpecPath.Child("type"), out.Spec.Type,
			[]corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer}))
	}
	if ip := out.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		errs = append(errs, field.Forbidden(templateSpecPath.Child("clusterIP"), "each member gives its own: remove it, or set None"))
	}
	if len(out.Spec.Ports) == 0 && out.Spec.ClusterIP != corev1.ClusterIPNone {
		errs = append(errs, field.Required(templateSpecPath.Child("ports"), "name at least one port"))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// Validate says what is wrong with a FederatedService that its schema admits.
func (s *FederatedService) Validate() field.ErrorList {
	_, errs := s.Service()
	return errs
}
