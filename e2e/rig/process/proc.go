// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Info is what the kernel tells of one process of this machine at the time of the look.
type Info struct {
	PID, Parent int
	// Start is in clock ticks since boot; with PID it names a process for good.
	Start uint64
	// State is the letter of /proc/PID/stat: R, S, D, T (stopped), Z (zombie).
	State byte
	// Name is the program's name, cut at 15 bytes by the kernel.
	Name string
	// Net and Mount are the numbers of its namespaces; 0 when they could not be read.
	Net, Mount uint64
	// Cgroup is the text of /proc/PID/cgroup.
	Cgroup string
}

// Snapshot looks at all processes once. Those that end meanwhile are left out.
func Snapshot() ([]Info, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var out []Info
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if info, ok := look(pid); ok {
			out = append(out, info)
		}
	}
	return out, nil
}

// Descendants returns those of all whose line of parents leads to one of the roots, the roots left out.
func Descendants(all []Info, roots map[int]bool) []Info {
	parent := make(map[int]int, len(all))
	for _, i := range all {
		parent[i.PID] = i.Parent
	}
	var out []Info
	for _, i := range all {
		for p := i.Parent; p > 1; p = parent[p] {
			if roots[p] {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// Signal sends a signal to exactly the process that was seen. One that has ended since is no error.
func (i Info) Signal(sig syscall.Signal) error {
	if start, _ := startTime(i.PID); start != i.Start {
		return nil
	}
	if err := syscall.Kill(i.PID, sig); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("signal process %d (%s): %w", i.PID, i.Name, err)
	}
	return nil
}

// Gone says whether the process that was seen has ended.
func (i Info) Gone() bool {
	start, state := startTime(i.PID)
	return start != i.Start || state == 'Z' || state == 'X'
}

func look(pid int) (Info, bool) {
	f, ok := stat(pid)
	if !ok {
		return Info{}, false
	}
	i := Info{PID: pid, Parent: f.parent, Start: f.start, State: f.state, Name: f.name}
	i.Net, i.Mount = namespace(pid, "net"), namespace(pid, "mnt")
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err == nil {
		i.Cgroup = string(data)
	}
	return i, true
}

// namespace reads the number out of a link such as "net:[4026532008]".
func namespace(pid int, kind string) uint64 {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(link, "[")
	n, err := strconv.ParseUint(strings.TrimSuffix(rest, "]"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// MountNamespace is the number of a process's mount namespace; 0 when the process is gone.
func MountNamespace(pid int) uint64 { return namespace(pid, "mnt") }

type fields struct {
	name   string
	state  byte
	parent int
	start  uint64
}

// stat reads /proc/PID/stat. The name may hold blanks and brackets, so the fields are counted from the last bracket.
func stat(pid int) (fields, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return fields{}, false
	}
	text := string(data)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return fields{}, false
	}
	rest := strings.Fields(text[end+1:])
	if len(rest) < 20 {
		return fields{}, false
	}
	f := fields{name: text[open+1 : end], state: rest[0][0]}
	f.parent, _ = strconv.Atoi(rest[1])
	f.start, err = strconv.ParseUint(rest[19], 10, 64)
	return f, err == nil
}

// startTime returns the start of a process and its state; zeros when there is none.
func startTime(pid int) (uint64, byte) {
	f, ok := stat(pid)
	if !ok {
		return 0, 0
	}
	return f.start, f.state
}
