// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fleettest

import (
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one kind that an APIServer serves.
type kind struct {
	gvk        schema.GroupVersionKind
	plural     string
	namespaced bool
}

var kinds = []kind{
	{schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "namespaces", false},
	{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "secrets", true},
	{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", true},
	{schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, "serviceaccounts", true},
	{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods", true},
	{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services", true},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", true},
	{schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, "horizontalpodautoscalers", true},
	{schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"}, "virtualservices", true},
	{schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "DestinationRule"}, "destinationrules", true},
	{schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}, "mutatingadmissionpolicies", false},
	{schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicyBinding"}, "mutatingadmissionpolicybindings", false},
	{schema.GroupVersionKind{Group: "multicluster.x-k8s.io", Version: "v1beta1", Kind: "ServiceExport"}, "serviceexports", true},
	{schema.GroupVersionKind{Group: "multicluster.x-k8s.io", Version: "v1beta1", Kind: "ServiceImport"}, "serviceimports", true},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "Cluster"}, "clusters", false},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "ClusterDrain"}, "clusterdrains", false},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "GlobalService"}, "globalservices", true},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "TrafficPolicy"}, "trafficpolicies", true},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "FederatedDeployment"}, "federateddeployments", true},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "ResourceBinding"}, "resourcebindings", true},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "Work"}, "works", true},
	{schema.GroupVersionKind{Group: "federation.weir.io", Version: "v1alpha1", Kind: "FederationEpoch"}, epochPlural, false},
}

// target is what a request's path names.
type target struct {
	kind
	namespace, name, subresource string
}

var errNoSuchPath = errors.New("the server could not find the requested resource")

// targetOf reads a path of the form /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE.
func targetOf(path string) (target, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[1:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, parts = parts[1], parts[2:]
	default:
		return target{}, errNoSuchPath
	}
	version, parts := parts[0], parts[1:]
	var out target
	if len(parts) >= 3 && parts[0] == "namespaces" {
		out.namespace, parts = parts[1], parts[2:]
	}
	for _, k := range kinds {
		if k.gvk.Group != group || k.gvk.Version != version || k.plural != parts[0] {
			continue
		}
		out.kind = k
		if len(parts) > 1 {
			out.name = parts[1]
		}
		if len(parts) > 2 {
			out.subresource = parts[2]
		}
		return out, nil
	}
	return target{}, errNoSuchPath
}

// discovery answers what a client asks before it knows any kind; nil for any other path.
func discovery(path string) any {
	path = strings.Trim(path, "/")
	switch {
	case path == "api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "apis":
		return groups()
	case path == "api/v1":
		return resources(schema.GroupVersion{Version: "v1"})
	case strings.HasPrefix(path, "apis/") && strings.Count(path, "/") == 2:
		parts := strings.Split(path, "/")
		return resources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return nil
}

func groups() *metav1.APIGroupList {
	out := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	seen := map[string]bool{"": true}
	for _, k := range kinds {
		if seen[k.gvk.Group] {
			continue
		}
		seen[k.gvk.Group] = true
		v := metav1.GroupVersionForDiscovery{GroupVersion: k.gvk.GroupVersion().String(), Version: k.gvk.Version}
		out.Groups = append(out.Groups, metav1.APIGroup{Name: k.gvk.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return out
}

func resources(gv schema.GroupVersion) *metav1.APIResourceList {
	out := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, k := range kinds {
		if k.gvk.GroupVersion() == gv {
			out.APIResources = append(out.APIResources, metav1.APIResource{
				Name: k.plural, Kind: k.gvk.Kind, Namespaced: k.namespaced, Verbs: metav1.Verbs{"get", "list", "create", "update", "patch", "delete"},
			})
		}
	}
	return out
}
