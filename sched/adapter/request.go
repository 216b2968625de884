// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/sched"
	"github.com/weir-io/weir/sched/filter"
	"github.com/weir-io/weir/sched/fit"
	"github.com/weir-io/weir/sched/match"
	"github.com/weir-io/weir/sched/override"
)

// Request is the request that the wish of a binding makes. What the binding has decided is what stands; Waiting is for the
// caller to fill in, and so is Rebalance.
func Request(b *v1alpha1.ResourceBindingSpec) sched.Request {
	r := sched.Request{
		Workload: strings.Join([]string{b.Resource.Kind, b.Resource.Namespace, b.Resource.Name}, "/"),
		Replicas: int64(b.Replicas),
		Where:    where(&b.Placement, b.Resource.APIVersion+"/"+b.Resource.Kind),
		Pod:      pod(b.ResourceNeed, b.NodeRequirements),
		Default:  bounds(b.Preference, ""),
		Bounds:   map[string]sched.Bounds{},
		Current:  map[string]sched.Placement{},
	}
	if p := b.Preference; p != nil {
		for name := range p.Weight {
			r.Bounds[name] = bounds(p, name)
		}
		for name := range p.Clusters {
			r.Bounds[name] = bounds(p, name)
		}
	}
	for _, pin := range b.Pins {
		r.Bounds[pin.Name] = sched.Pinned(int64(pin.Replicas))
	}
	for _, c := range b.Clusters {
		r.Current[c.Name] = sched.Placement{Replicas: int64(c.Replicas)}
	}
	return r
}

func bounds(p *v1alpha1.ReplicaPreference, cluster string) sched.Bounds {
	share := p.Share(cluster)
	out := sched.Bounds{Weight: int64(share.Weight), Min: int64(share.Min), Max: sched.Unlimited}
	if share.Max != nil {
		out.Max = int64(*share.Max)
	}
	return out
}

func where(p *v1alpha1.Placement, kind string) filter.Wish {
	w := filter.Wish{Kind: kind}
	if len(p.Clusters) > 0 {
		w.Names = make(map[string]bool, len(p.Clusters))
		for _, c := range p.Clusters {
			w.Names[c.Name] = true
		}
	}
	if a := p.ClusterAffinity; a != nil {
		w.Labels = labelSelector(a.LabelSelector)
		if a.FieldSelector != nil {
			for _, e := range a.FieldSelector.MatchExpressions {
				w.Fields = append(w.Fields, match.Requirement{Key: string(e.Key), Operator: match.Operator(e.Operator), Values: e.Values})
			}
		}
	}
	for _, t := range p.ClusterTolerations {
		w.Tolerations = append(w.Tolerations, match.Toleration{
			Key: t.Key, Value: t.Value, Exists: t.Operator == v1alpha1.TolerationExists, Effect: match.Effect(t.Effect),
		})
	}
	return w
}

func labelSelector(s *metav1.LabelSelector) match.Selector {
	if s == nil {
		return nil
	}
	var out match.Selector
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		out = append(out, match.Requirement{Key: key, Operator: match.In, Values: []string{s.MatchLabels[key]}})
	}
	for _, e := range s.MatchExpressions {
		out = append(out, match.Requirement{Key: e.Key, Operator: match.Operator(e.Operator), Values: e.Values})
	}
	return out
}

// templatePath is where the pod template stands in a Deployment. Overrides elsewhere change nothing that is counted.
const templatePath = "/spec/template"

// Refine adds to a request what only the FederatedDeployment tells of its pods. The errors name its fields: they are all
// that is wrong with its overrides, but for pins.
func Refine(r *sched.Request, d *v1alpha1.FederatedDeployment) field.ErrorList {
	deployment, errs := d.Deployment()
	if len(errs) > 0 {
		return errs
	}
	r.Pod.Apart = apart(&deployment.Spec.Template)
	for _, o := range d.Spec.Overrides {
		made, wrong := override.Deployment(d, o.ClusterName)
		errs = append(errs, wrong...)
		if made == nil || !slices.ContainsFunc(o.ClusterOverrides, func(f v1alpha1.FieldOverride) bool {
			return string(f.Path) == templatePath || strings.HasPrefix(string(f.Path), templatePath+"/")
		}) {
			continue
		}
		if r.Pods == nil {
			r.Pods = map[string]fit.Pod{}
		}
		template := &made.Spec.Template
		p := pod(Requests(template), requirements(&template.Spec))
		p.Apart = apart(template)
		r.Pods[o.ClusterName] = p
	}
	return errs
}
