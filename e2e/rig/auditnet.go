// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/weir-io/weir/e2e/rig/netns"
	"github.com/weir-io/weir/e2e/rig/process"
)

// memoryLimit is what the whole fleet may take, in MiB of proportional set size.
const memoryLimit = 12 * 1024

// silence is how long a connection must go unanswered to count as dropped. A reachable address of the rig answers in a
// thousandth of it.
const silence = time.Second

// unreachable is nil when nothing answers at any of the addresses within [silence]. They are tried at the same time.
func unreachable(ctx context.Context, from netns.Space, addresses ...string) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	var g errgroup.Group
	for _, address := range addresses {
		g.Go(func() error {
			conn, err := from.Dial(ctx, "tcp", address)
			switch {
			case err == nil:
				conn.Close()
				return fmt.Errorf("%s answers", address)
			case refused(err):
				return nil
			}
			return fmt.Errorf("%s could not be tried: %w", address, err)
		})
	}
	return g.Wait()
}

// refused says whether an attempt to connect came to nothing on its way, or because of who would have been there.
func refused(err error) bool {
	var slow net.Error
	return errors.As(err, &slow) && slow.Timeout() || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// auditFirewall stands in the hub's network and tries to reach the member's API server, its pods and its istiod.
func (c *Cluster) auditFirewall(ctx context.Context) (string, error) {
	hub := c.fleet.Hub().place.space()
	config, err := c.REST()
	if err != nil {
		return "", err
	}
	config.Dial, config.Timeout = hub.Dial, 10*time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	if err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return "", fmt.Errorf("the API server, which it needs: %w", err)
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	var shut []string
	for i := range pods.Items {
		p := &pods.Items[i]
		var port int
		switch {
		case p.Labels["app"] == "istiod":
			port = 15012
		case p.Namespace == probeNamespace:
			port = probePort
		case p.Namespace == ingressNamespace:
			port = 15021
		default:
			continue
		}
		address := net.JoinHostPort(p.Status.PodIP, strconv.Itoa(port))
		// What the hub must not reach must be there, or the check proves nothing.
		conn, err := c.place.space().Dial(ctx, "tcp", address)
		if err != nil {
			return "", fmt.Errorf("pod %s/%s does not answer its own node: %w", p.Namespace, p.Name, err)
		}
		conn.Close()
		shut = append(shut, address)
	}
	if len(shut) == 0 {
		return "", errors.New("there was no pod to try")
	}
	if err := unreachable(ctx, hub, shut...); err != nil {
		return "", err
	}
	return fmt.Sprintf("API server ready, %d pods out of reach", len(shut)), nil
}

// auditNetworks stands in each member and tries to reach the other members' probes and gateways.
func (f *Fleet) auditNetworks(ctx context.Context) (string, error) {
	paths := map[*Cluster][]string{}
	tried := 0
	for _, to := range f.Members() {
		client, err := to.Client()
		if err != nil {
			return "", err
		}
		pods, err := client.CoreV1().Pods(probeNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for _, from := range f.Members() {
			if from == to {
				continue
			}
			gateway := net.JoinHostPort(to.EastWestIP(), "15443")
			conn, err := from.place.space().Dial(ctx, "tcp", gateway)
			if err != nil {
				return "", fmt.Errorf("%s does not reach the gateway of %s: %w", from.Name, to.Name, err)
			}
			conn.Close()
			for i := range pods.Items {
				paths[from] = append(paths[from], net.JoinHostPort(pods.Items[i].Status.PodIP, strconv.Itoa(probePort)))
				tried++
			}
		}
	}
	for from, addresses := range paths {
		if err := unreachable(ctx, from.place.space(), addresses...); err != nil {
			return "", fmt.Errorf("from %s: %w", from.Name, err)
		}
	}
	return fmt.Sprintf("%d paths closed, each gateway open", tried), nil
}

// endpointLine finds an endpoint of a cluster of the kind that a gateway between networks serves, in Envoy's list of clusters.
var endpointLine = regexp.MustCompile(`(?m)^(outbound_\.\S+?)::(\d+\.\d+\.\d+\.\d+):\d+::cx_active`)

// auditGateways looks at where each member's gateway between networks sends what it is given: to its own network only, or a
// request could hop on to a third cluster.
func (f *Fleet) auditGateways(ctx context.Context) (string, error) {
	own := 0
	for _, c := range f.Members() {
		proxies, err := c.sidecars()
		if err != nil {
			return "", err
		}
		inside := netip.MustParsePrefix(c.place.pods())
		for _, p := range proxies {
			if p.Namespace != istioNamespace {
				continue
			}
			text, err := get(ctx, netns.OfProcess(p.PID), "http://127.0.0.1:15000/clusters", "")
			if err != nil {
				return "", fmt.Errorf("pod %s/%s: ask its Envoy: %w", p.Namespace, p.Pod, err)
			}
			for _, m := range endpointLine.FindAllStringSubmatch(text, -1) {
				to, err := netip.ParseAddr(m[2])
				if err != nil {
					return "", err
				}
				if !inside.Contains(to) {
					return "", fmt.Errorf("the gateway of %s sends %s to %s", c.Name, m[1], to)
				}
				own++
			}
		}
	}
	if own == 0 {
		return "", errors.New("the gateways know no endpoint")
	}
	return fmt.Sprintf("%d endpoints, all in the gateway's own network", own), nil
}

// auditHost looks for addresses of the rig in the network that this program runs in.
func (f *Fleet) auditHost() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	ours := []netip.Prefix{netip.MustParsePrefix("10.199.0.0/16")}
	for _, c := range f.clusters {
		ours = append(ours, netip.MustParsePrefix(c.place.pods()), netip.MustParsePrefix(c.place.balanced()))
	}
	for _, a := range addresses {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		for _, o := range ours {
			if o.Contains(p.Addr()) {
				return "", fmt.Errorf("it has the rig's address %s", p)
			}
		}
	}
	return fmt.Sprintf("%d addresses, none of them the rig's", len(addresses)), nil
}

// auditMemory holds the fleet's memory against its limit.
func (f *Fleet) auditMemory() (string, error) {
	mib, processes, err := f.Memory()
	if err != nil {
		return "", err
	}
	if mib > memoryLimit {
		return "", fmt.Errorf("%d processes take %d MiB", processes, mib)
	}
	return fmt.Sprintf("%d processes take %d MiB", processes, mib), nil
}

// Memory returns what all processes of the fleet take, pods too: MiB of proportional set size, in which memory that several
// share is counted once.
func (f *Fleet) Memory() (mib, processes int, err error) {
	recorded, err := f.table.List("")
	if err != nil {
		return 0, 0, err
	}
	spaces, err := netns.List(prefix)
	if err != nil {
		return 0, 0, err
	}
	nets := make(map[uint64]bool)
	for _, s := range spaces {
		nets[s.ID()] = true
	}
	all, err := ownedBy(recorded, nets)()
	if err != nil {
		return 0, 0, err
	}
	kib := 0
	for _, i := range all {
		kib += proportional(i)
	}
	return kib / 1024, len(all), nil
}

// proportional is a process's proportional set size in KiB; 0 when it has ended.
func proportional(i process.Info) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", i.PID))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return n
		}
	}
	return 0
}
