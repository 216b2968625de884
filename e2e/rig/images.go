// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/weir-io/weir/e2e/rig/image"
	"github.com/weir-io/weir/e2e/rig/process"
)

// Names of the images. Their pull policy is Never: no registry is asked.
const (
	PauseImage = "weir.test/pause:1"
	PilotImage = "weir.test/pilot:1"
	ProxyImage = "weir.test/proxyv2:1"
	AppImage   = "weir.test/app:1"
	WeirImage  = "weir.test/weir:1"
)

const pathInImage = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// pause is what holds the namespaces of a pod.
func pauseImage(bin string) image.Image {
	return image.Image{
		Name: PauseImage, Entrypoint: []string{"/pause"}, User: "65535:65535",
		Files: []image.File{{Path: "/pause", Source: filepath.Join(bin, "pause")}},
	}
}

// pilotImage is istiod. It runs as Istio's own image does, for the chart asks for a user that is not root.
func pilotImage(bin string) image.Image {
	return image.Image{
		Name: PilotImage, Entrypoint: []string{"/usr/local/bin/pilot-discovery"}, User: "1337:1337", Env: []string{pathInImage},
		Files: append(ground(), image.File{Path: "/usr/local/bin/pilot-discovery", Source: filepath.Join(bin, "pilot-discovery")}),
	}
}

// proxyImage is the sidecar and the gateway: the agent, Envoy, and iptables with what it loads, for the agent as an init
// container writes the rules that lead a pod's traffic through Envoy.
func proxyImage(ctx context.Context, bin, istio string) (image.Image, error) {
	const tables = "/usr/sbin/xtables-nft-multi"
	envoy := filepath.Join(bin, "envoy")
	files := append(ground(),
		image.File{Path: "/usr/local/bin/pilot-agent", Source: filepath.Join(bin, "pilot-agent")},
		image.File{Path: "/usr/local/bin/envoy", Source: envoy},
		image.File{
			Path: "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json", Owner: 1337, Mode: 0o644,
			Source: filepath.Join(istio, "tools/packaging/common/envoy_bootstrap.json"),
		},
		image.File{Path: tables, Source: tables},
		image.File{Path: "/usr/sbin/nft", Source: "/usr/sbin/nft"},
	)
	for _, n := range []string{"iptables", "ip6tables"} {
		for _, verb := range []string{"", "-save", "-restore"} {
			files = append(files,
				image.File{Path: "/usr/sbin/" + n + verb, Link: "xtables-nft-multi"},
				image.File{Path: "/usr/sbin/" + n + "-nft" + verb, Link: "xtables-nft-multi"})
		}
	}
	extensions, err := filepath.Glob("/usr/lib/x86_64-linux-gnu/xtables/*.so")
	if err != nil || len(extensions) == 0 {
		return image.Image{}, errors.New("find the extensions of iptables: none in /usr/lib/x86_64-linux-gnu/xtables")
	}
	for _, e := range extensions {
		files = append(files, image.File{Path: e, Source: e})
	}
	libraries, err := sharedLibraries(ctx, tables, "/usr/sbin/nft", envoy)
	if err != nil {
		return image.Image{}, err
	}
	for _, l := range libraries {
		files = append(files, image.File{Path: l, Source: l})
	}
	return image.Image{
		Name: ProxyImage, Entrypoint: []string{"/usr/local/bin/pilot-agent"}, User: "1337:1337", Env: []string{pathInImage}, Files: files,
	}, nil
}

// ground is what both of Istio's images need of a file system.
func ground() []image.File {
	owned := func(path string) image.File { return image.File{Path: path, Folder: true, Owner: 1337} }
	return []image.File{
		{Path: "/tmp", Folder: true, Mode: 0o1777},
		{Path: "/etc/passwd", Data: []byte("root:x:0:0::/:/bin/false\nistio-proxy:x:1337:1337::/:/bin/false\n")},
		{Path: "/etc/group", Data: []byte("root:x:0:\nistio-proxy:x:1337:\n")},
		{Path: "/proc", Folder: true},
		{Path: "/sys", Folder: true},
		{Path: "/dev", Folder: true},
		{Path: "/run", Folder: true},
		{Path: "/var/run/secrets", Folder: true},
		owned("/etc/istio"), owned("/etc/istio/proxy"), owned("/etc/istio/pod"),
		owned("/var/lib/istio"), owned("/var/lib/istio/envoy"), owned("/var/lib/istio/data"),
	}
}

var libraryPath = regexp.MustCompile(`/\S+\.so\S*`)

// sharedLibraries lists the libraries that the programs load, as the dynamic linker names them.
func sharedLibraries(ctx context.Context, programs ...string) ([]string, error) {
	seen := make(map[string]bool)
	var out []string
	for _, p := range programs {
		// ldd fails on a program that needs no library; such a program adds none.
		text, _ := exec.CommandContext(ctx, "ldd", p).Output()
		for _, l := range libraryPath.FindAllString(string(text), -1) {
			if !seen[l] {
				seen[l] = true
				out = append(out, l)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("find shared libraries: ldd named none for %v", programs)
	}
	return out, nil
}

// store returns a folder that holds a containerd's disk with the rig's images unpacked. It is made once per version; nodes
// start from copies that share the files' content.
func (b builder) store(ctx context.Context, key, bin, istio string) (string, error) {
	dir := filepath.Join(b.o.CacheDir, "store-"+key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	b.o.Progress("packing the images of Istio (about 20 s)")
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	for _, d := range []string{"root", "state", "archives"} {
		if err := os.MkdirAll(filepath.Join(tmp, d), 0o755); err != nil {
			return "", fmt.Errorf("make the image store: %w", err)
		}
	}
	proxy, err := proxyImage(ctx, bin, istio)
	if err != nil {
		return "", err
	}
	if err := b.unpack(ctx, tmp, bin, []image.Image{pauseImage(bin), pilotImage(bin), proxy}); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(tmp, "root"), dir); err != nil {
		return "", fmt.Errorf("keep the image store: %w", err)
	}
	return dir, os.RemoveAll(tmp)
}

// unpack runs a containerd of its own on the folder and has it import the images.
func (b builder) unpack(ctx context.Context, tmp, bin string, images []image.Image) error {
	address := filepath.Join(tmp, "s")
	config := fmt.Sprintf("version = 3\nroot = %q\nstate = %q\n[grpc]\n  address = %q\n", tmp+"/root", tmp+"/state", address)
	if err := os.WriteFile(tmp+"/containerd.toml", []byte(config), 0o644); err != nil {
		return err
	}
	table := process.Table{Dir: tmp + "/processes"}
	_, err := table.Start(process.Spec{
		Name: "containerd", Args: []string{filepath.Join(bin, "containerd"), "--config", tmp + "/containerd.toml"},
		Log: tmp + "/containerd.log", Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH")},
	})
	if err != nil {
		return err
	}
	defer func() { _ = table.End(context.WithoutCancel(ctx), "containerd", 10*time.Second) }()
	ctr := func(args ...string) error {
		out, err := exec.CommandContext(ctx, filepath.Join(bin, "ctr"), append([]string{"-a", address, "-n", "k8s.io"}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ctr %v: %w: %s", args, err, bytes.TrimSpace(out))
		}
		return nil
	}
	for begin := time.Now(); ; {
		if err := ctr("version"); err == nil {
			break
		} else if time.Since(begin) > time.Minute {
			return fmt.Errorf("containerd does not answer; see %s/containerd.log: %w", tmp, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	for _, im := range images {
		archive := filepath.Join(tmp, "archives", "image.tar")
		if err := im.Write(archive); err != nil {
			return err
		}
		if err := ctr("images", "import", archive); err != nil {
			return err
		}
	}
	return table.End(ctx, "containerd", 10*time.Second)
}

// LoadImage imports an OCI archive into the cluster's node.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	if out, err := c.ctr(ctx, "-n", "k8s.io", "images", "import", archive).CombinedOutput(); err != nil {
		return fmt.Errorf("cluster %q: load image %s: %w: %s", c.Name, filepath.Base(archive), err, bytes.TrimSpace(out))
	}
	return nil
}

// ctr is containerd's own client on the cluster's node.
func (c *Cluster) ctr(ctx context.Context, args ...string) *exec.Cmd {
	return c.OnNode(ctx, append([]string{filepath.Join(c.fleet.bin, "ctr"), "-a", socket}, args...)...)
}
