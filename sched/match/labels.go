// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package match

import (
	"slices"
	"strconv"
)

// An Operator relates a label to the values of a requirement. Its text is that of the Kubernetes API.
type Operator string

// The operators there are. Gt and Lt compare whole numbers; NotIn and DoesNotExist hold where the label is missing.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
)

// A Requirement is met, or not, by a set of labels.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string
}

// Matches reports whether labels meet the requirement.
func (r Requirement) Matches(labels map[string]string) bool {
	value, there := labels[r.Key]
	switch r.Operator {
	case In:
		return there && slices.Contains(r.Values, value)
	case NotIn:
		return !there || !slices.Contains(r.Values, value)
	case Exists:
		return there
	case DoesNotExist:
		return !there
	case Gt, Lt:
		if !there || len(r.Values) != 1 {
			return false
		}
		have, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return false
		}
		bound, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return false
		}
		return r.Operator == Gt && have > bound || r.Operator == Lt && have < bound
	}
	return false
}

// A Selector is met where all its requirements are; an empty one everywhere.
type Selector []Requirement

// Matches reports whether labels meet every requirement.
func (s Selector) Matches(labels map[string]string) bool {
	for _, r := range s {
		if !r.Matches(labels) {
			return false
		}
	}
	return true
}

// Any is met where one of its selectors is; where there is none, everywhere.
type Any []Selector

// Matches reports whether labels meet one of the selectors.
func (a Any) Matches(labels map[string]string) bool {
	return len(a) == 0 || slices.ContainsFunc(a, func(s Selector) bool { return s.Matches(labels) })
}
