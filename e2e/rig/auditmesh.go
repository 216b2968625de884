// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/e2e/rig/netns"
	"github.com/weir-io/weir/e2e/rig/process"
)

// get asks for a URL from inside a network and returns the answer's text. An answer other than 200 is an error.
func get(ctx context.Context, from netns.Space, url, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DialContext: from.Dial, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Host = host
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", url, resp.Status)
	}
	return string(body), nil
}

// auditTraffic sends requests from the network of the cluster's probe to the probes' Service, as an application there would,
// until each member has answered one.
func (c *Cluster) auditTraffic(ctx context.Context) (string, error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	service, err := client.CoreV1().Services(probeNamespace).Get(ctx, probeName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	pods, err := c.sidecars()
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(pods, func(one Container) bool { return one.Namespace == probeNamespace })
	if at < 0 {
		return "", errors.New("the audit's application has no sidecar")
	}
	space := netns.OfProcess(pods[at].PID)
	url := fmt.Sprintf("http://%s:%d/", service.Spec.ClusterIP, probePort)
	host := fmt.Sprintf("%s.%s.svc.cluster.local:%d", probeName, probeNamespace, probePort)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	seen := make(map[string]int)
	sent := 0
	err = c.poll(ctx, "an answer of each member", 100*time.Millisecond, func() (string, error) {
		sent++
		text, err := get(ctx, space, url, host)
		if err != nil {
			return err.Error(), nil //nolint:nilerr // Proxies may not know each other yet; the limit ends the wait.
		}
		var answer struct{ Cluster string }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			return "", fmt.Errorf("the answer is no probe's: %w", err)
		}
		seen[answer.Cluster]++
		if len(seen) < len(c.fleet.Members()) {
			return fmt.Sprintf("answers by cluster: %v", seen), nil
		}
		return "", nil
	})
	return fmt.Sprintf("%d requests, answers by cluster %v", sent, seen), err
}

// sidecars returns the proxies' containers on the cluster's node, gateways too.
func (c *Cluster) sidecars() ([]Container, error) {
	all, err := c.Containers()
	if err != nil {
		return nil, err
	}
	var out []Container
	for _, one := range all {
		if one.Name == sidecar {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Container) int { return strings.Compare(a.Pod, b.Pod) })
	return out, nil
}

// auditEnvoys compares the program that each proxy runs with the pinned one, byte by byte.
func (c *Cluster) auditEnvoys(context.Context) (string, error) {
	want, err := digest(c.fleet.Bin("envoy"))
	if err != nil {
		return "", err
	}
	proxies, err := c.sidecars()
	if err != nil {
		return "", err
	}
	all, err := process.Snapshot()
	if err != nil {
		return "", err
	}
	count := 0
	for _, p := range proxies {
		found := 0
		for _, i := range process.Descendants(all, map[int]bool{p.PID: true}) {
			if i.Name != "envoy" {
				continue
			}
			got, err := digest(fmt.Sprintf("/proc/%d/exe", i.PID))
			if err != nil && i.Gone() {
				continue
			}
			if err != nil {
				return "", err
			}
			if got != want {
				return "", fmt.Errorf("pod %s/%s runs an Envoy with digest %s, pinned is %s", p.Namespace, p.Pod, got, want)
			}
			found++
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID)); found == 0 && err == nil {
			return "", fmt.Errorf("pod %s/%s runs no Envoy", p.Namespace, p.Pod)
		}
		count += found
	}
	if count == 0 {
		return "", errors.New("there are no proxies")
	}
	return fmt.Sprintf("%d of Envoy %s, sha256 %s", count, envoyVersion, want[:12]), nil
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// redirected finds a counted redirect in what iptables-save prints: packets, then the port redirected to.
var redirected = regexp.MustCompile(`(?m)^\[(\d+):\d+\] -A ISTIO\S* .*-j REDIRECT --to-ports (15001|15006)`)

// auditRedirects reads the packet counters of the redirects in each pod with a sidecar. Each must have them; the audit's own
// pod, which has just been sent requests and has sent some, must have counted packets both ways.
func (c *Cluster) auditRedirects(ctx context.Context) (string, error) {
	proxies, err := c.sidecars()
	if err != nil {
		return "", err
	}
	pods, in, out := 0, 0, 0
	for _, p := range proxies {
		text, err := c.InPod(ctx, p.PID, "/usr/sbin/xtables-nft-multi", "iptables-save", "-c", "-t", "nat").Output()
		if err != nil {
			return "", fmt.Errorf("pod %s/%s: read its redirects: %w", p.Namespace, p.Pod, err)
		}
		found := redirected.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			if p.Namespace == ingressNamespace || p.Namespace == istioNamespace {
				continue // Gateways are asked directly.
			}
			return "", fmt.Errorf("pod %s/%s has no redirects", p.Namespace, p.Pod)
		}
		pods++
		for _, m := range found {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return "", err
			}
			if p.Namespace != probeNamespace {
				continue
			}
			if m[2] == "15006" {
				in += n
			} else {
				out += n
			}
		}
	}
	if in == 0 || out == 0 {
		return "", fmt.Errorf("the audit's pod has counted %d connections redirected in and %d out", in, out)
	}
	return fmt.Sprintf("redirects in %d pods; the audit's pod counted %d in, %d out", pods, in, out), nil
}

// auditIstiods reads the metrics of each istiod of the cluster.
func (c *Cluster) auditIstiods(ctx context.Context) (string, error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	pods, err := client.CoreV1().Pods(istioNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=istiod"})
	if err != nil {
		return "", err
	}
	ready, connected := 0, 0.0
	for i := range pods.Items {
		p := &pods.Items[i]
		if !podReady(p) {
			continue
		}
		ready++
		text, err := get(ctx, c.place.space(), "http://"+p.Status.PodIP+":15014/metrics", "")
		if err != nil {
			return "", fmt.Errorf("pod %s: read its metrics: %w", p.Name, err)
		}
		if n := sum(text, "pilot_total_xds_rejects"); n != 0 {
			return "", fmt.Errorf("pod %s: its proxies refused %g pushes", p.Name, n)
		}
		connected += sum(text, "pilot_xds")
	}
	if ready == 0 {
		return "", errors.New("there is no istiod")
	}
	if connected == 0 {
		return "", errors.New("no proxy is connected to istiod")
	}
	return fmt.Sprintf("%d istiod, %g proxies connected, 0 pushes refused", ready, connected), nil
}

// sum adds up the values of a metric of that name over all its labels. A counter that was never raised is not there.
func sum(text, name string) float64 {
	total := 0.0
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		if v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64); err == nil {
			total += v
		}
	}
	return total
}

// auditRefusals asks each Envoy itself how many updates it has refused.
func (c *Cluster) auditRefusals(ctx context.Context) (string, error) {
	proxies, err := c.sidecars()
	if err != nil {
		return "", err
	}
	updates := 0
	for _, p := range proxies {
		text, err := get(ctx, netns.OfProcess(p.PID), "http://127.0.0.1:15000/stats?filter=(cds|lds|rds|eds|sds).*update_(rejected|success)", "")
		if err != nil {
			return "", fmt.Errorf("pod %s/%s: ask its Envoy: %w", p.Namespace, p.Pod, err)
		}
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			n, err := strconv.Atoi(value)
			if err != nil {
				continue
			}
			if strings.HasSuffix(name, "update_rejected") && n > 0 {
				return "", fmt.Errorf("pod %s/%s: %s is %d", p.Namespace, p.Pod, name, n)
			}
			updates += n
		}
	}
	if updates == 0 {
		return "", errors.New("no proxy has taken an update")
	}
	return fmt.Sprintf("%d proxies took %d updates and refused 0", len(proxies), updates), nil
}
