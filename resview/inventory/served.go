// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

const (
	// servedInterval is how often the API server is asked for all that it serves: the answer is long, and changes when
	// somebody installs or upgrades something.
	servedInterval = 2 * time.Minute
	// maxServed is how many kinds are told. Of a member that serves more none is: half a list would tell the hub that the
	// other half is not served.
	maxServed = 5000
	// maxServedName holds a group, a version and a kind.
	maxServedName = 384
)

// served keeps what the API server serves. It belongs to the goroutine that refreshes.
type served struct {
	apis    []string
	asked   time.Time // when it last answered; zero: never
	problem string    // what the last attempt failed with
}

// refresh asks again when it is time, and says of an error whether it is another one than before. What cannot be asked
// stays as it was: what is not known counts as served, so an error holds nothing up.
func (s *served) refresh(ctx context.Context, d discovery.DiscoveryInterface, now time.Time) (news bool, err error) {
	if !s.asked.IsZero() && now.Sub(s.asked) < servedInterval {
		return false, nil
	}
	err = s.ask(ctx, d, now)
	was := s.problem
	s.problem = ""
	if err != nil {
		s.problem = err.Error()
	}
	return s.problem != was, err
}

func (s *served) ask(ctx context.Context, d discovery.DiscoveryInterface, now time.Time) error {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, lists, err := discovery.ToServerResourcesInterfaceWithContext(d).ServerGroupsAndResourcesWithContext(asking)
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return fmt.Errorf("ask what the API server serves: %w", err)
	}
	found := kindsOf(lists)
	if partly != nil {
		for gv := range partly.Groups {
			keep(found, s.apis, gv)
		}
	}
	s.apis, s.asked = nil, now
	if len(found) > maxServed {
		return fmt.Errorf("the API server serves %d kinds, more than the %d that are told: the hub takes all for served", len(found), maxServed)
	}
	s.apis = slices.Sorted(maps.Keys(found))
	return nil
}

// kindsOf are the kinds in an answer, as GROUP/VERSION/KIND. Those that only stand under another one are none of their own.
func kindsOf(lists []*metav1.APIResourceList) map[string]bool {
	out := map[string]bool{}
	for _, list := range lists {
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if r.Kind == "" || strings.Contains(r.Name, "/") {
				continue
			}
			version := list.GroupVersion
			if r.Version != "" {
				version = schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
			}
			if name := version + "/" + r.Kind; len(name) <= maxServedName {
				out[name] = true
			}
		}
	}
	return out
}

// keep adds to what was found the kinds of a group version that did not answer, as they were known before: an API server
// behind the API server that is away for a while takes no kind away.
func keep(found map[string]bool, before []string, gv schema.GroupVersion) {
	for _, name := range before {
		if version, kind, ok := cutLast(name); ok && version == gv.String() && kind != "" {
			found[name] = true
		}
	}
}

// cutLast cuts at the last slash.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
