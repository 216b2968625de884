// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

// Standing is what one VirtualService of weir's says, read back from an API
// server: the plan as it was written, for who has lost the record of it.
type Standing struct {
	// Generation stands in the names of its routes and in its label; the higher of
	// the two, where they differ. At least 1.
	Generation int64
	// Percent is the weight of each subset, as written.
	Percent map[string]int32
}

// ReadStanding reads a VirtualService that weir wrote. It answers false for any
// other rule, and for one whose routes say no weight above zero.
func ReadStanding(r Rule) (Standing, bool) {
	if r.Kind != "VirtualService" || !r.Ours() {
		return Standing{}, false
	}
	labelled, _ := positive(r.Labels[LabelGeneration], 64)
	for _, protocol := range []string{"http", "tcp"} {
		for _, route := range objects(r.Spec, protocol) {
			named, _ := ParseRouteName(text(route, "name"))
			s := Standing{Generation: max(named, labelled, 1), Percent: map[string]int32{}}
			var sum int32
			for _, d := range objects(route, "route") {
				subset, weight := text(field(d, "destination"), "subset"), percent(d["weight"])
				if subset == "" {
					continue
				}
				s.Percent[subset] += weight
				sum += weight
			}
			if sum > 0 {
				return s, true
			}
		}
	}
	return Standing{}, false
}

// percent reads a weight, whatever kind of number the object was read as; what
// is none, or no percentage, is zero.
func percent(v any) int32 {
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case float64:
		n = int64(v)
	}
	if n < 0 || n > totalWeight {
		return 0
	}
	return int32(n)
}
