// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds weir's API: the types of group federation.weir.io, their defaults and their validation rules.
//
// Specs are written by users (Cluster, TrafficPolicy, ClusterDrain) or by weir alone (GlobalService); each type says
// which. A field that a build does not serve yet is answered by the condition Ready=False with reason NotSupported,
// and nothing is written to any member for it. The package holds types only: no client, no decision.
//
// +kubebuilder:object:generate=true
// +groupName=federation.weir.io
package v1alpha1
