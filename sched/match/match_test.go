// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package match

import "testing"

func TestLabelsMeetRequirementsAsInKubernetes(t *testing.T) {
	labels := map[string]string{"tier": "production", "cores": "16", "empty": ""}
	for name, c := range map[string]struct {
		requirement Requirement
		want        bool
	}{
		"in":                        {Requirement{"tier", In, []string{"test", "production"}}, true},
		"not among":                 {Requirement{"tier", In, []string{"test"}}, false},
		"in, missing":               {Requirement{"zone", In, []string{""}}, false},
		"in, empty":                 {Requirement{"empty", In, []string{""}}, true},
		"not in":                    {Requirement{"tier", NotIn, []string{"test"}}, true},
		"not in, but is":            {Requirement{"tier", NotIn, []string{"production"}}, false},
		"not in, missing":           {Requirement{"zone", NotIn, []string{"a"}}, true},
		"exists":                    {Requirement{"empty", Exists, nil}, true},
		"exists, missing":           {Requirement{"zone", Exists, nil}, false},
		"does not exist":            {Requirement{"zone", DoesNotExist, nil}, true},
		"does not exist, but is":    {Requirement{"tier", DoesNotExist, nil}, false},
		"greater":                   {Requirement{"cores", Gt, []string{"15"}}, true},
		"greater, equal":            {Requirement{"cores", Gt, []string{"16"}}, false},
		"less":                      {Requirement{"cores", Lt, []string{"17"}}, true},
		"less, missing":             {Requirement{"zone", Lt, []string{"17"}}, false},
		"less, no number":           {Requirement{"tier", Lt, []string{"17"}}, false},
		"less than no number":       {Requirement{"cores", Lt, []string{"many"}}, false},
		"greater than two":          {Requirement{"cores", Gt, []string{"1", "2"}}, false},
		"an operator nobody knows":  {Requirement{"tier", "Like", []string{"production"}}, false},
		"an operator that is empty": {Requirement{"tier", "", nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.requirement.Matches(labels); got != c.want {
				t.Errorf("%+v: %t", c.requirement, got)
			}
		})
	}
}

func TestASelectorNeedsAllAndAnyNeedsOne(t *testing.T) {
	labels := map[string]string{"a": "1"}
	yes, no := Requirement{"a", Exists, nil}, Requirement{"b", Exists, nil}
	for name, c := range map[string]struct {
		any  Any
		want bool
	}{
		"none":               {nil, true},
		"an empty one":       {Any{{}}, true},
		"one that is met":    {Any{{yes}}, true},
		"met in part":        {Any{{yes, no}}, false},
		"the second":         {Any{{no}, {yes}}, true},
		"neither":            {Any{{no}, {yes, no}}, false},
		"empty, which is so": {Any{{no}, {}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.any.Matches(labels); got != c.want {
				t.Errorf("%t", got)
			}
		})
	}
}

func TestTheHardestTaintThatNobodyToleratesRepels(t *testing.T) {
	soft, hard, evict := Taint{"soft", "", PreferNoSchedule}, Taint{"gpu", "a", NoSchedule}, Taint{"gone", "", NoExecute}
	for name, c := range map[string]struct {
		taints      []Taint
		tolerations []Toleration
		want        string // the taint that repels
	}{
		"none":                        {nil, nil, ""},
		"one":                         {[]Taint{hard}, nil, "gpu=a:NoSchedule"},
		"the hardest":                 {[]Taint{soft, evict, hard}, nil, "gone:NoExecute"},
		"the first of equals":         {[]Taint{hard, {"b", "", NoSchedule}}, nil, "gpu=a:NoSchedule"},
		"the rest":                    {[]Taint{soft, evict}, []Toleration{{Key: "gone", Exists: true}}, "soft:PreferNoSchedule"},
		"by value":                    {[]Taint{hard}, []Toleration{{Key: "gpu", Value: "a"}}, ""},
		"by another value":            {[]Taint{hard}, []Toleration{{Key: "gpu", Value: "b"}}, "gpu=a:NoSchedule"},
		"by key":                      {[]Taint{hard}, []Toleration{{Key: "gpu", Exists: true, Effect: NoSchedule}}, ""},
		"of another effect":           {[]Taint{hard}, []Toleration{{Key: "gpu", Exists: true, Effect: NoExecute}}, "gpu=a:NoSchedule"},
		"everything":                  {[]Taint{hard, soft, evict}, []Toleration{{Exists: true}}, ""},
		"no key and no Exists":        {[]Taint{hard}, []Toleration{{}}, "gpu=a:NoSchedule"},
		"an effect that is not known": {[]Taint{soft, {"x", "", "Odd"}}, nil, "x:Odd"},
	} {
		t.Run(name, func(t *testing.T) {
			taint, repelled := Repelled(c.taints, c.tolerations)
			if repelled != (c.want != "") || repelled && taint.String() != c.want {
				t.Errorf("%v %t", taint, repelled)
			}
		})
	}
}
