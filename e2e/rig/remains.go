// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"os"
	"strings"

	"github.com/weir-io/weir/e2e/rig/netns"
	"github.com/weir-io/weir/e2e/rig/process"
)

// remains is nil when a fleet that has ended left nothing on the machine: no namespace, no mount, and none of its programs.
func remains(runDir, bin string) error {
	var left []string
	spaces, err := netns.List(prefix)
	if err != nil {
		return err
	}
	for _, s := range spaces {
		left = append(left, "namespace "+s.Name)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("look for mounts: %w", err)
	}
	if strings.Contains(string(mounts), runDir+"/") {
		left = append(left, "mounts below "+runDir)
	}
	all, err := process.Snapshot()
	if err != nil {
		return err
	}
	for _, i := range all {
		// One that has ended, and the kernel's own, have no program.
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", i.PID))
		if err == nil && (strings.HasPrefix(exe, bin+"/") || strings.HasPrefix(exe, runDir+"/")) {
			left = append(left, fmt.Sprintf("process %d (%s)", i.PID, i.Name))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("the fleet has ended and left behind: %s", strings.Join(left, ", "))
	}
	return nil
}
