// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ForeignError says that an object holds something that somebody other than weir wrote; nothing was changed.
type ForeignError struct {
	Cluster  string
	Ref      Ref
	Managers []string // field managers that wrote it; of an object as a whole, who wrote earliest comes first
	What     string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("cluster %q: %s was written by %s: %s", e.Cluster, e.Ref, strings.Join(e.Managers, ", "), e.What)
}

// foreignError turns the API server's conflict of field managers into a ForeignError; nil for any other error.
func foreignError(cluster string, ref Ref, err error) *ForeignError {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var who, fields []string
	for _, c := range status.Status().Details.Causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		fields = append(fields, c.Field)
		// The message reads: conflict with "NAME" using API/VERSION.
		if parts := strings.SplitN(c.Message, `"`, 3); len(parts) == 3 {
			who = append(who, parts[1])
		}
	}
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(who)
	slices.Sort(fields)
	return &ForeignError{Cluster: cluster, Ref: ref, Managers: slices.Compact(who), What: "fields " + strings.Join(slices.Compact(fields), ", ")}
}

// managers are those that wrote an object itself, earliest first: its maker most often. Who writes only its status or its
// scale, as a member's own controllers do with every object, did not put it there.
func managers(o *unstructured.Unstructured) []string {
	entries := slices.DeleteFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource != "" || strings.HasPrefix(f.Manager, "weir-")
	})
	slices.SortStableFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(timeOf(a).Compare(timeOf(b)), cmp.Compare(a.Manager, b.Manager))
	})
	var out []string
	for _, f := range entries {
		if !slices.Contains(out, f.Manager) {
			out = append(out, f.Manager)
		}
	}
	if len(out) == 0 {
		return []string{"an unknown writer"}
	}
	return out
}

// timeOf is when an entry last grew; the zero time where it does not say.
func timeOf(f metav1.ManagedFieldsEntry) time.Time {
	if f.Time == nil {
		return time.Time{}
	}
	return f.Time.Time
}
