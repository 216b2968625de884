// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-io/weir/e2e/rig/netns"
)

// The names that Istio gives the containers of its proxy and of istiod.
const (
	sidecar = "istio-proxy"
	istiod  = "discovery"
)

// Container is a container that runs on a cluster's node, as the container runtime's own files tell it. No API server is
// asked, so it is known as well when there is none.
type Container struct {
	// Namespace and Pod name the pod.
	Namespace, Pod string
	// Name is the container's name; empty for the one that holds the pod's namespaces.
	Name string
	// ID is the runtime's number of the container.
	ID string
	// PID is the process number of its first program on this machine. A kill of it ends all in the container.
	PID int
}

// Containers returns the containers that run on the cluster's node. It fails when the node is off.
func (c *Cluster) Containers() ([]Container, error) {
	holder, err := c.fleet.table.Lookup(c.record(roleHolder))
	if err != nil || !holder.Running() {
		return nil, fmt.Errorf("cluster %q: the node is off", c.Name)
	}
	dir := fmt.Sprintf("/proc/%d/root/run/containerd/io.containerd.runtime.v2.task/k8s.io", holder.PID)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %q: list containers: %w", c.Name, err)
	}
	var out []Container
	for _, e := range entries {
		one, ok := readContainer(filepath.Join(dir, e.Name()))
		if ok {
			one.ID = e.Name()
			out = append(out, one)
		}
	}
	return out, nil
}

// readContainer reads a container's folder. One that is just coming or going is not there.
func readContainer(dir string) (Container, bool) {
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil || json.Unmarshal(data, &spec) != nil {
		return Container{}, false
	}
	text, err := os.ReadFile(filepath.Join(dir, "init.pid"))
	if err != nil {
		return Container{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return Container{}, false
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		return Container{}, false
	}
	const at = "io.kubernetes.cri."
	return Container{
		Namespace: spec.Annotations[at+"sandbox-namespace"], Pod: spec.Annotations[at+"sandbox-name"],
		Name: spec.Annotations[at+"container-name"], PID: pid,
	}, true
}

// container returns one container of one pod.
func (c *Cluster) container(namespace, pod, name string) (Container, error) {
	all, err := c.Containers()
	if err != nil {
		return Container{}, err
	}
	for _, one := range all {
		if one.Namespace == namespace && one.Pod == pod && one.Name == name {
			return one, nil
		}
	}
	return Container{}, fmt.Errorf("cluster %q: pod %s/%s has no running container %q", c.Name, namespace, pod, name)
}

// PodSpace returns the network of a pod, to dial from where its application stands: Envoy's own door 127.0.0.1:15000, say.
func (c *Cluster) PodSpace(namespace, pod string) (netns.Space, error) {
	one, err := c.container(namespace, pod, "")
	if err != nil {
		return netns.Space{}, err
	}
	return netns.OfProcess(one.PID), nil
}
