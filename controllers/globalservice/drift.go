// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// While traffic moves every member tells numbers each second that hardly ever are the same twice: when its proof was renewed,
// how much arrives, how many requests are in flight. To write each of them costs the hub's API server the whole status a
// second and service. What decides anything is written at once: a level, a pod, the first and the last request in flight.
const (
	// driftEvery is how often numbers that drift are written.
	driftEvery = 3 * time.Second
	// renewEarly is the age at which a proof that was renewed is written all the same. A plan rests on one of less than ten
	// seconds.
	renewEarly = 5 * time.Second
)

// mayWait says whether a status differs from the one that stands by nothing but numbers that drift, and may be written later.
func (r *Reconciler) mayWait(key types.NamespacedName, stands, status ownedStatus, now time.Time) bool {
	r.mu.Lock()
	since := now.Sub(r.told[key])
	r.mu.Unlock()
	if since < 0 || since >= driftEvery {
		return false
	}
	for _, p := range []v1alpha1.ProofStatus{stands.Rules, stands.Weights, stands.Fence} {
		if p.SeenAt != nil && now.Sub(p.SeenAt.Time) >= renewEarly {
			return false
		}
	}
	return equality.Semantic.DeepEqual(stands, status.driftedBack(stands))
}

// driftedBack is the status with the drifting numbers of the one that stands, where both have some.
func (o ownedStatus) driftedBack(stands ownedStatus) ownedStatus {
	for own, old := range map[*v1alpha1.ProofStatus]v1alpha1.ProofStatus{&o.Rules: stands.Rules, &o.Weights: stands.Weights, &o.Fence: stands.Fence} {
		if own.SeenAt != nil && old.SeenAt != nil {
			own.SeenAt = old.SeenAt
		}
	}
	old := map[string]v1alpha1.GlobalServiceClusterStatus{}
	for _, c := range stands.Clusters {
		old[c.Name] = c
	}
	clusters := make([]v1alpha1.GlobalServiceClusterStatus, len(o.Clusters))
	for i, c := range o.Clusters {
		before := old[c.Name]
		if c.ArrivalsMilliPerSecond != nil && before.ArrivalsMilliPerSecond != nil {
			c.ArrivalsMilliPerSecond = before.ArrivalsMilliPerSecond
		}
		if positive(c.InFlight) && positive(before.InFlight) {
			c.InFlight = before.InFlight
		}
		clusters[i] = c
	}
	if o.Clusters != nil {
		o.Clusters = clusters
	}
	return o
}

func positive(n *int64) bool { return n != nil && *n > 0 }

// wrote notes when a service's status was written.
func (r *Reconciler) wrote(key types.NamespacedName, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil {
		r.told = map[types.NamespacedName]time.Time{}
	}
	r.told[key] = now
}
