// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// Step is the next safe thing to do for one service. Only one is ever given: the
// caller does it, gathers the State again and asks for the next. Doing it twice is
// harmless.
type Step struct {
	Kind Kind `json:"kind"`
	// Goal and Cluster say whom the step serves: the cluster it changes, or, for a
	// Split, the cluster whose goal asked for it. Empty where it serves them all.
	Goal    Goal   `json:"goal,omitzero"`
	Cluster string `json:"cluster,omitempty"`

	// Replicas is what the workload shall have (ReplicasUp, ReplicasDown).
	Replicas int32 `json:"replicas,omitempty"`
	// Fenced is how many pods shall bear the fence in all, and Entry how new ones
	// come up (Fence, Unfence).
	Fenced int32 `json:"fenced,omitempty"`
	Entry  Entry `json:"entry,omitzero"`
	// Split names every cluster, sorted by name, also those at zero (Split, and the
	// Renew of weights).
	Split []Weight `json:"split,omitempty"`
	// Renews says which write a Renew repeats.
	Renews Subject `json:"renews,omitzero"`

	// Proofs says what the step rests on, for people who read it later.
	Proofs Proofs `json:"proofs"`
	// Finished are the clusters whose own goal is met in this State, sorted. It is
	// filled on every step, because one drain can end while another waits.
	Finished []string `json:"finished,omitempty"`
}

// Weight is one cluster's share in a Split.
type Weight struct {
	Cluster string   `json:"cluster"`
	Share   Permille `json:"share"`
}

// Proofs are the levels a step rests on.
type Proofs struct {
	Weights Level    `json:"weights"`
	Fence   Level    `json:"fence"`
	Quiet   Evidence `json:"quiet"`
}
