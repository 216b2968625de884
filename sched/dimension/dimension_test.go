// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package dimension

import "testing"

func TestAmountsAreWrittenAsInManifests(t *testing.T) {
	for want, c := range map[string]struct {
		name   string
		amount int64
	}{
		"300m": {CPU, 300}, "2": {CPU, 2000}, "512Mi": {Memory, 512 << 20}, "1500": {"example.com/dpu", 1500},
		"1Gi": {EphemeralStorage, 1 << 30}, "2Mi": {"hugepages-2Mi", 2 << 20}, "-1": {CPU, -1000},
	} {
		if got := Format(c.name, c.amount); got != want {
			t.Errorf("%s %d is written %s and not %s", c.name, c.amount, got, want)
		}
	}
}

func TestWhatCannotBeSharedIsExact(t *testing.T) {
	for name, want := range map[string]bool{CPU: false, Memory: false, Pods: false, EphemeralStorage: false, "hugepages-2Mi": false, "nvidia.com/gpu": true} {
		if Exact(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

func TestEveryNameKeepsItsPlace(t *testing.T) {
	var n Names
	gpu, cpu := n.Place("nvidia.com/gpu"), n.Place(CPU)
	if pods := n.Place(Pods); pods != 0 || gpu == cpu || n.Place("nvidia.com/gpu") != gpu || n.Name(cpu) != CPU || n.Len() != 3 {
		t.Errorf("pods %d, gpu %d, cpu %d of %d", pods, gpu, cpu, n.Len())
	}
	if _, known := n.Find("example.com/dpu"); known {
		t.Error("a name that nobody placed has a place")
	}
}
