// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package match

// An Effect is what a taint does to work that does not tolerate it. Its text is that of the Kubernetes API.
type Effect string

// The effects there are. Another text is taken as NoSchedule.
const (
	NoSchedule       Effect = "NoSchedule"
	PreferNoSchedule Effect = "PreferNoSchedule"
	NoExecute        Effect = "NoExecute"
)

// A Taint keeps work away that does not tolerate it.
type Taint struct {
	Key, Value string
	Effect     Effect
}

// String is the taint as kubectl writes it.
func (t Taint) String() string {
	text := t.Key
	if t.Value != "" {
		text += "=" + t.Value
	}
	return text + ":" + string(t.Effect)
}

// A Toleration bears taints. An empty Key, with Exists, bears any key; an empty Effect any effect.
type Toleration struct {
	Key, Value string
	Exists     bool // any value
	Effect     Effect
}

func (t Toleration) bears(taint Taint) bool {
	switch {
	case t.Effect != "" && t.Effect != taint.Effect:
		return false
	case t.Key == "":
		return t.Exists
	}
	return t.Key == taint.Key && (t.Exists || t.Value == taint.Value)
}

// Repelled returns the hardest of the taints that no toleration bears: NoExecute before NoSchedule before
// PreferNoSchedule, and among equals the first.
func Repelled(taints []Taint, tolerations []Toleration) (taint Taint, repelled bool) {
	for _, candidate := range taints {
		if borne(candidate, tolerations) {
			continue
		}
		if !repelled || hardness(candidate.Effect) > hardness(taint.Effect) {
			taint, repelled = candidate, true
		}
	}
	return taint, repelled
}

func borne(taint Taint, tolerations []Toleration) bool {
	for _, t := range tolerations {
		if t.bears(taint) {
			return true
		}
	}
	return false
}

func hardness(e Effect) int {
	switch e {
	case PreferNoSchedule:
		return 0
	case NoExecute:
		return 2
	case NoSchedule:
	}
	return 1
}
