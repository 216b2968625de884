// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package dimension

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Names of resources that weir treats by name.
const (
	CPU              = "cpu"
	Memory           = "memory"
	Pods             = "pods"
	EphemeralStorage = "ephemeral-storage"
	hugepages        = "hugepages-"
)

// Amounts are resources by name: thousandths of a core for cpu, the resource's own unit for any other.
type Amounts map[string]int64

// Exact reports whether the resource is of the kind of which a piece cannot be shared or squeezed, such as an
// accelerator, so that a decision on it needs a view that has not changed since.
func Exact(name string) bool {
	switch name {
	case CPU, Memory, Pods, EphemeralStorage:
		return false
	}
	return !strings.HasPrefix(name, hugepages)
}

// Format writes an amount as people write it in a manifest.
func Format(name string, amount int64) string {
	switch {
	case name == CPU:
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case name == Memory, name == EphemeralStorage, strings.HasPrefix(name, hugepages):
		return resource.NewQuantity(amount, resource.BinarySI).String()
	}
	return strconv.FormatInt(amount, 10)
}

// Names gives each resource name a place in vectors. The zero value knows pods, at place 0, once it has been asked.
type Names struct {
	places map[string]int
	names  []string
}

// Place is the place of a name, which gets one if it has none.
func (n *Names) Place(name string) int {
	if n.places == nil {
		n.places, n.names = map[string]int{Pods: 0}, []string{Pods}
	}
	place, ok := n.places[name]
	if !ok {
		place = len(n.names)
		n.places[name] = place
		n.names = append(n.names, name)
	}
	return place
}

// Find is the place of a name, if it has one.
func (n *Names) Find(name string) (int, bool) {
	place, ok := n.places[name]
	return place, ok
}

// Name at a place.
func (n *Names) Name(place int) string { return n.names[place] }

// Len is how many names have a place.
func (n *Names) Len() int { return len(n.names) }
