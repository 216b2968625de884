// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
)

// maxWish is the length of the longest wish that a status holds: no name is as long.
const maxWish = 512

// wishes are what the annotations of the Service ask of its names, and what people should know of them. They are only
// noted here: whoever answers names judges them, and no rule waits for that.
func (in *input) wishes() (*v1alpha1.NameWishes, []string) {
	var old v1alpha1.NameWishes
	if in.service != nil && in.service.Status.NameWishes != nil {
		old = *in.service.Status.NameWishes
	}
	var out v1alpha1.NameWishes
	var notes []string
	for _, w := range []struct {
		annotation string
		old        string
		to         *string
	}{
		{v1alpha1.AnnotationHostname, old.Hostname, &out.Hostname},
		{v1alpha1.AnnotationTTL, old.TTL, &out.TTL},
	} {
		value, differ := in.wish(w.annotation, w.old)
		*w.to = value
		if differ {
			notes = append(notes, fmt.Sprintf("members ask for different %s: %q is in force until they agree", w.annotation, value))
		}
	}
	if out == (v1alpha1.NameWishes{}) {
		return nil, notes
	}
	return &out, notes
}

// wish is what one annotation asks for, and whether members disagree. The one in force stays while a member asks for it,
// and while none asks for another and one is not heard: a name must not change, or go, by a silence.
func (in *input) wish(annotation, old string) (value string, differ bool) {
	silent := false
	var asked []string
	for _, m := range in.exporters() {
		v := hub.Clip(strings.TrimSpace(m.facts.GetAnnotations()[annotation]), maxWish)
		silent = silent || m.facts == nil && !m.whole && !m.left
		if v != "" && !slices.Contains(asked, v) {
			asked = append(asked, v)
		}
	}
	switch {
	case slices.Contains(asked, old), len(asked) == 0 && silent:
		value = old
	case len(asked) > 0:
		value = asked[0]
	}
	return value, len(asked) > 1
}

// hostsOf are the names under which clients reach the service: in every member, and what DNS answers besides.
func hostsOf(local string, names *v1alpha1.NamesStatus) []string {
	out := []string{local}
	if names != nil {
		out = append(out, names.Hosts...)
	}
	return out
}
