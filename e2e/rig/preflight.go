// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// needs maps each program of the machine that the rig calls to the Debian package that brings it.
var needs = map[string]string{
	"/usr/sbin/runc": "runc", "/usr/lib/cni/ptp": "containernetworking-plugins", "/usr/lib/cni/host-local": "containernetworking-plugins",
	"/usr/sbin/xtables-nft-multi": "iptables", "/usr/sbin/nft": "nftables", "ip": "iproute2", "conntrack": "conntrack",
	"nsenter": "util-linux", "unshare": "util-linux", "sysctl": "procps", "ldd": "libc-bin", "mount": "mount",
}

// preflight says in one line what the machine lacks. What Debian's packages bring it installs.
func preflight(ctx context.Context, o Options) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("the rig needs Linux on amd64, this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return errors.New("the rig makes network namespaces and containers: run it as root")
	}
	for _, program := range []string{"go", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("the rig needs %s in PATH", program)
		}
	}
	if missing := missingPackages(); len(missing) > 0 {
		o.Progress("installing Debian packages: " + strings.Join(missing, " "))
		if err := install(ctx, missing); err != nil {
			return fmt.Errorf("the rig needs the packages %s and could not install them: %w", strings.Join(missing, " "), err)
		}
		if missing := missingPackages(); len(missing) > 0 {
			return fmt.Errorf("the rig needs the programs of these packages at their usual places: %s", strings.Join(missing, " "))
		}
	}
	if err := exec.CommandContext(ctx, "unshare", "--net", "--mount", "true").Run(); err != nil {
		return fmt.Errorf("the rig needs network and mount namespaces, this machine denies them: %w", err)
	}
	return nil
}

func missingPackages() []string {
	seen := make(map[string]bool)
	var out []string
	for program, pkg := range needs {
		if _, err := exec.LookPath(program); err != nil && !seen[pkg] {
			seen[pkg] = true
			out = append(out, pkg)
		}
	}
	slices.Sort(out)
	return out
}

// aptLock is locked by all of weir's scripts that install packages; hack/need.sh names it too. It is there wherever apt is.
const aptLock = "/var/lib/apt"

func install(ctx context.Context, packages []string) error {
	for _, argv := range [][]string{
		// Scripts install too, at the same time, and apt-get fails where another one is at work.
		{"flock", aptLock, "apt-get", "update", "-qq"},
		append([]string{"flock", aptLock, "apt-get", "install", "-y", "-qq", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(argv[2:4], " "), err, tail(string(out), 1))
		}
	}
	return nil
}
