// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"unique"
)

// Node is one node as a member reports it.
type Node struct {
	// Name of the node.
	Name string
	// Allocatable is what pods may take in all.
	Allocatable Amounts
	// Reserved is what the node has and pods may not take: what the kubelet keeps for the system, for Kubernetes and as
	// its threshold of eviction.
	Reserved Amounts
	// Allocated is what the pods on it have been promised. It may be over Allocatable.
	Allocated Amounts
	// Labels are sorted by key. The host name is left out where it only says Name again, since with it no two nodes would
	// be alike.
	Labels []Label
	// Taints are in the order of the node.
	Taints []Taint
	// Conditions are those of the kinds that Kubernetes itself sets.
	Conditions Conditions
}

// Label is one label of a node.
type Label struct{ Key, Value string }

// Taint is one taint of a node.
type Taint struct{ Key, Value, Effect string }

// Condition is a kind of condition that Kubernetes sets on every node.
type Condition int

// The kinds of conditions that are kept. Others are a vendor's own and say nothing about where pods may go.
const (
	Ready Condition = iota
	MemoryPressure
	DiskPressure
	PIDPressure
	NetworkUnavailable
	conditionKinds
)

// ConditionNames are the names of conditions in Kubernetes, by kind.
var ConditionNames = [conditionKinds]string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}

// Status of a condition.
type Status uint16

// The statuses. The zero value: nothing is said of it.
const (
	NotSaid Status = iota
	True
	False
	Unknown
)

// Conditions hold the status of each kind. The zero value says nothing of any.
type Conditions uint16

const conditionBits = 2

// Of returns the status of a kind.
func (c Conditions) Of(kind Condition) Status {
	return Status(c>>(conditionBits*kind)) & (1<<conditionBits - 1)
}

// With returns the conditions with the status of one kind changed.
func (c Conditions) With(kind Condition, status Status) Conditions {
	return c&^((1<<conditionBits-1)<<(conditionBits*kind)) | Conditions(status)<<(conditionBits*kind)
}

// Usable says whether a node with these conditions takes pods.
func (c Conditions) Usable() bool { return c.Of(Ready) == True }

// check says what is wrong with a node that came from outside.
func (n *Node) check() error {
	if err := checkName(n.Name); err != nil {
		return err
	}
	for _, part := range []struct {
		what    string
		amounts Amounts
	}{{"allocatable", n.Allocatable}, {"reserved", n.Reserved}, {"allocated", n.Allocated}} {
		if err := part.amounts.check(part.what); err != nil {
			return err
		}
	}
	if err := checkLabels(n.Labels); err != nil {
		return err
	}
	return checkTaints(n.Taints)
}

func checkName(name string) error {
	if name == "" || len(name) > MaxName {
		return fault(Invalid, "node name of %d characters, want 1 to %d", len(name), MaxName)
	}
	return nil
}

func checkLabels(labels []Label) error {
	if len(labels) > MaxLabels {
		return fault(TooMuch, "labels: %d of them, %d at most", len(labels), MaxLabels)
	}
	for i, l := range labels {
		switch {
		case l.Key == "" || len(l.Key) > MaxName || len(l.Value) > MaxName:
			return fault(Invalid, "labels: %d characters of key and %d of value, %d at most", len(l.Key), len(l.Value), MaxName)
		case i > 0 && labels[i-1].Key >= l.Key:
			return fault(Invalid, "labels: %q is out of order or there twice", l.Key)
		}
	}
	return nil
}

func checkTaints(taints []Taint) error {
	if len(taints) > MaxTaints {
		return fault(TooMuch, "taints: %d of them, %d at most", len(taints), MaxTaints)
	}
	for _, t := range taints {
		if t.Key == "" || max(len(t.Key), len(t.Value), len(t.Effect)) > MaxName {
			return fault(Invalid, "taints: a key is empty, or a text longer than %d", MaxName)
		}
	}
	return nil
}

// text is a string that equal nodes share, over all members. What nobody holds any more is freed.
type text = unique.Handle[string]

func encodeLabels(labels []Label) text {
	var out []byte
	for _, l := range labels {
		out = appendText(appendText(out, l.Key), l.Value)
	}
	return unique.Make(string(out))
}

func decodeLabels(t text) []Label {
	var out []Label
	for s := t.Value(); s != ""; {
		var l Label
		l.Key, s = cutText(s)
		l.Value, s = cutText(s)
		out = append(out, l)
	}
	return out
}

func encodeTaints(taints []Taint) text {
	var out []byte
	for _, t := range taints {
		out = appendText(appendText(appendText(out, t.Key), t.Value), t.Effect)
	}
	return unique.Make(string(out))
}

func decodeTaints(t text) []Taint {
	var out []Taint
	for s := t.Value(); s != ""; {
		var v Taint
		v.Key, s = cutText(s)
		v.Value, s = cutText(s)
		v.Effect, s = cutText(s)
		out = append(out, v)
	}
	return out
}
