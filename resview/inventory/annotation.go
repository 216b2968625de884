// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/mesh/istio"
	"github.com/weir-io/weir/mesh/mcs"
)

// Problem is something about a Service that its owner should know, fit for an event on the Service.
type Problem struct {
	Namespace, Name string
	UID             types.UID
	// Reason is one word, v1alpha1.ReasonBadAnnotation as a rule.
	Reason string
	// Message says what is wrong and the way out. It is stable for the same fault.
	Message string
}

// annotationPrefix starts every annotation that users set for weir on a Service.
const annotationPrefix = "weir.io/"

// annotations that a user may set on a Service.
var annotations = []string{
	v1alpha1.AnnotationGlobal,
	v1alpha1.AnnotationTrafficPolicy,
	v1alpha1.AnnotationHostname,
	v1alpha1.AnnotationTTL,
	v1alpha1.AnnotationAdopt,
}

// ours returns weir's annotations among all; nil for none.
func ours(all map[string]string) map[string]string {
	var out map[string]string
	for k, v := range all {
		if strings.HasPrefix(k, annotationPrefix) {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

// isGlobal says whether a Service is annotated as global. Any value but "true" leaves it a plain Service.
func isGlobal(s *corev1.Service) bool { return s.Annotations[v1alpha1.AnnotationGlobal] == "true" }

// isStandIn says whether a Service is the one that weir made because the member has none of that name. One that its owner
// has given a selector since is his.
func isStandIn(s *corev1.Service) bool {
	return mcs.StandsIn(s.Labels, s.Annotations, len(s.Spec.Selector) > 0)
}

// judge finds annotations that say nothing weir knows. What a known annotation's value means is the hub's to judge, save
// the one that decides whether the hub hears of the Service at all.
func judge(s *corev1.Service) []Problem {
	if s.Labels[istio.LabelManagedBy] == istio.ManagedBy {
		return nil // Written by the hub, with marks of its own.
	}
	var out []Problem
	problem := func(format string, args ...any) {
		out = append(out, Problem{
			Namespace: s.Namespace, Name: s.Name, UID: s.UID,
			Reason: v1alpha1.ReasonBadAnnotation, Message: fmt.Sprintf(format, args...),
		})
	}
	if v, ok := s.Annotations[v1alpha1.AnnotationGlobal]; ok && v != "true" && v != "false" {
		problem("%s is %q, which weir does not know: the Service stays a plain one; set it to \"true\" to make it global, or to \"false\"",
			v1alpha1.AnnotationGlobal, clip(v, 64))
	}
	for _, k := range slices.Sorted(maps.Keys(s.Annotations)) {
		if strings.HasPrefix(k, annotationPrefix) && !slices.Contains(annotations, k) {
			problem("annotation %s is none that weir knows and has no effect: take it off, or use one of %s", k, strings.Join(annotations, ", "))
		}
	}
	return out
}

// boundAnnotations returns weir's annotations within what a message may hold: those known first, then by name.
func boundAnnotations(all map[string]string) map[string]string {
	out := map[string]string{}
	names := slices.SortedFunc(maps.Keys(ours(all)), func(a, b string) int {
		if x, y := slices.Contains(annotations, a), slices.Contains(annotations, b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, k := range names[:min(len(names), maxAnnotations)] {
		out[k] = clip(all[k], maxAnnotation)
	}
	return out
}

// clip shortens a text to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// line makes of a text one that may be shown on a line: without control characters, and at most n bytes long.
func line(s string, n int) string {
	return clip(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s), n)
}
