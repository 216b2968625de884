// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/weir-io/weir/resview/pb"
)

// Severities of findings.
const (
	severityError   = "Error"
	severityWarning = "Warning"
	severityInfo    = "Info"
)

// report collects findings. What it holds is stable for the same member, so that it is not sent for nothing.
type report struct{ findings []*pb.Finding }

func (r *report) add(severity, check, subject, message, remedy string) {
	r.findings = append(r.findings, &pb.Finding{
		Check: check, Severity: severity, Subject: line(subject, maxSubject), Message: line(message, maxText), Remedy: line(remedy, maxText),
	})
}

// preflight is what an operator should know before weir writes the first rule, as far as objects tell: the worst first.
func (x *index) preflight(book *ruleBook, gateways []*corev1.Pod) []*pb.Finding {
	r := &report{}
	x.checkAPIServer(r)
	x.checkIstiods(r)
	x.checkVersions(r)
	x.checkFlags(r)
	x.checkSettings(r)
	x.checkGateways(r, gateways)
	x.checkServices(r, book)
	for _, k := range book.outlined {
		r.add(severityWarning, "RuleTooLarge", k.String(),
			fmt.Sprintf("it is larger than %d bytes, so weir sees the hosts that it names and nothing else of it", maxRuleBytes),
			"split it into smaller objects")
	}
	order := []string{severityError, severityWarning, severityInfo}
	slices.SortStableFunc(r.findings, func(a, b *pb.Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.GetSeverity()), slices.Index(order, b.GetSeverity())),
			cmp.Compare(a.GetCheck(), b.GetCheck()), cmp.Compare(a.GetSubject(), b.GetSubject()), cmp.Compare(a.GetMessage(), b.GetMessage()))
	})
	return r.findings[:min(len(r.findings), maxFindings)]
}

func (x *index) checkAPIServer(r *report) {
	if !x.settings.fenceAdmission {
		r.add(severityError, "FenceAdmission", admissionFor,
			"the API server does not serve "+admissionAPI+", by which pods made during a drain come up fenced: a drain of this cluster stops before its fence",
			"upgrade the cluster to Kubernetes 1.36 or later")
	}
}

func (x *index) checkIstiods(r *report) {
	subject := "namespace " + x.istioNamespace
	if len(x.istiods) == 0 {
		r.add(severityWarning, "NoIstiod", subject,
			"no pod with label app=istiod runs there, so no rule can be proven in this member",
			"set the agent's Istio namespace to istiod's, or install Istio")
		return
	}
	if ids := x.clusterIDs(); len(ids) > 1 {
		r.add(severityError, "ClusterIDs", subject,
			"istiods name this cluster differently: "+strings.Join(ids, ", "),
			"give all revisions the same global.multiCluster.clusterName")
	}
	for _, p := range x.istiods {
		if env(discoveryOf(p), "ENABLE_DEBUG_ON_HTTP") == "false" {
			r.add(severityWarning, "DebugEndpoints", "pod "+p.Namespace+"/"+p.Name,
				"ENABLE_DEBUG_ON_HTTP is false, so istiod does not tell what its proxies acknowledged: weir waits by time and shows Timed",
				"take ENABLE_DEBUG_ON_HTTP=false off istiod; its debug endpoints ask callers for an identity")
		}
	}
}

func (x *index) checkVersions(r *report) {
	seen := map[string]bool{}
	for _, p := range x.istiods {
		v := x.settings.versions[processOf(p)]
		if v != "" {
			seen[v] = true
		}
		subject := "pod " + p.Namespace + "/" + p.Name
		switch {
		case v == "" && isReady(p):
			r.add(severityInfo, "IstioVersion", subject, "its version is not known yet",
				"allow the agent to reach port "+portDebug+" of istiod's pods")
		case v != "" && compareVersions(v, oldestProven) < 0:
			r.add(severityWarning, "IstioVersion", subject,
				fmt.Sprintf("it runs Istio %s; below %s pushes cannot be told apart, so weir waits by time and shows Timed", v, oldestProven),
				"upgrade Istio to "+oldestProven+" or later")
		}
	}
	if len(seen) > 1 {
		r.add(severityInfo, "IstioVersions", "namespace "+x.istioNamespace,
			"istiods run different versions; the oldest decides what can be proven", "finish the upgrade")
	}
}

// flag is a switch of istiod that changes what weir's means do.
type flag struct{ name, message, remedy string }

var flags = []flag{
	{
		"ENABLE_MCS_SERVICE_DISCOVERY", "a Service is seen by other clusters only while a ServiceExport stands beside it",
		"keep a ServiceExport for every Service that other clusters call",
	},
	{
		"ENABLE_MCS_CLUSTER_LOCAL", "names under the cluster's own domain stay in the caller's cluster, so weights move only calls to the clusterset.local name",
		"let clients call NAME.NAMESPACE.svc.clusterset.local, or take the flag off istiod",
	},
	{
		"ENABLE_MCS_AUTO_EXPORT", "istiod exports every Service by itself, and again when it restarts, which would undo a fence by ServiceExport",
		"take the flag off istiod; weir fences by label meanwhile",
	},
}

func (x *index) checkFlags(r *report) {
	for _, f := range flags {
		if x.anyIstiod(func(c *corev1.Container) bool { return env(c, f.name) == "true" }) {
			r.add(severityWarning, "IstiodFlags", f.name, f.message, f.remedy)
		}
	}
	served := x.settings.exportVersion
	reads := func(c *corev1.Container) bool {
		return env(c, "ENABLE_MCS_SERVICE_DISCOVERY") == "true" && cmp.Or(env(c, "MCS_API_VERSION"), "v1alpha1") != served
	}
	if served != "" && x.anyIstiod(reads) {
		r.add(severityWarning, "MCSVersion", "serviceexports.multicluster.x-k8s.io",
			"the API server serves "+served+", and istiod reads another version: it sees no export and says nothing",
			"serve v1alpha1 as well, or set MCS_API_VERSION="+served+" on istiod")
	}
}

func (x *index) anyIstiod(is func(*corev1.Container) bool) bool {
	return slices.ContainsFunc(x.istiods, func(p *corev1.Pod) bool { c := discoveryOf(p); return c != nil && is(c) })
}

func (x *index) checkSettings(r *report) {
	if len(x.istiods) == 0 {
		return
	}
	subject := "mesh settings in namespace " + x.istioNamespace
	if e := x.settings.meshError; e != "" {
		r.add(severityWarning, "MeshSettings", subject, e+"; weir takes Istio's defaults", x.settings.meshRemedy)
		return
	}
	if !x.settings.mesh.counts {
		r.add(severityWarning, "ProxyStats", subject,
			"sidecars export no statistics of what comes in, so weir can see that a pod is quiet only where istio_requests_total is kept, and else waits for the limit",
			"add `http\\.inbound_.*downstream_rq.*` to defaultConfig.proxyStatsMatcher.inclusionRegexps, then restart the workloads")
	}
}

func (x *index) checkGateways(r *report, gateways []*corev1.Pod) {
	ids := x.clusterIDs()
	for _, p := range gateways {
		proxy, _ := proxyOf(p)
		id := cmp.Or(env(proxy, "ISTIO_META_CLUSTER_ID"), defaultClusterID)
		if len(ids) > 0 && !slices.Contains(ids, id) {
			r.add(severityWarning, "GatewayCluster", "pod "+p.Namespace+"/"+p.Name,
				fmt.Sprintf("the gateway says that its cluster is %s, and istiod calls it %s: it prefers no endpoints of its own", id, strings.Join(ids, ", ")),
				"restart the gateway, so that injection gives it istiod's name of the cluster")
		}
		if g := x.gateway(p); g.GetEastWest() && len(g.GetAddresses()) == 0 {
			r.add(severityWarning, "GatewayAddress", "pod "+p.Namespace+"/"+p.Name,
				"no address is known under which other networks reach this east-west gateway",
				"give its Service a load balancer or externalIPs")
		}
	}
}

// checkServices looks at each global Service and its pods, and at what is annotated wrongly.
func (x *index) checkServices(r *report, book *ruleBook) {
	for _, p := range x.problems() {
		r.add(severityWarning, p.Reason, "Service "+p.Namespace+"/"+p.Name, p.Message, "correct the annotation")
	}
	for _, s := range x.services {
		if !isGlobal(s) {
			continue
		}
		subject := "Service " + s.Namespace + "/" + s.Name
		pods := x.behind[nameOf(s)]
		if n := len(pods); n > maxPods {
			r.add(severityError, "ServiceTooLarge", subject,
				fmt.Sprintf("it chooses %d pods; the hub takes %d of one Service", n, maxPods), "split the Service")
		}
		if _, left := book.choose(s.Namespace, s.Name); left > 0 {
			r.add(severityInfo, "RulesLeftOut", subject,
				fmt.Sprintf("not shown to the hub, of the rules that reach it or hide it from their own workloads: %d", left),
				"narrow rules that name hosts by wildcard")
		}
		if w := x.hurried(pods); len(w) > 0 {
			r.add(severityWarning, "GracePeriod", subject,
				"pods may be killed before their sidecar has drained: "+strings.Join(w, ", "),
				"set terminationGracePeriodSeconds above the proxy's terminationDrainDuration")
		}
	}
}

// hurried names the workloads whose pods get no more time to end than their sidecar takes to drain.
func (x *index) hurried(pods []*corev1.Pod) []string {
	var out []string
	for _, p := range pods {
		grace := p.Spec.TerminationGracePeriodSeconds
		proxy, _ := proxyOf(p)
		if proxy == nil || grace == nil {
			continue
		}
		drain := parseProxy(p.Annotations[annotationProxyConfig]).drain(cmp.Or(x.settings.mesh.drain, defaultDrain))
		if time.Duration(*grace)*time.Second <= drain {
			out = append(out, cmp.Or(x.owner(p), "Pod/"+p.Name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// problems are those of all Services, in order.
func (x *index) problems() []Problem {
	var out []Problem
	for _, s := range x.services {
		out = append(out, judge(s)...)
	}
	return out
}
