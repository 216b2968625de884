// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/weir-io/weir/resview/pb"
)

func checkMember(m *pb.MemberFacts) *refusal {
	return firstOf(
		each("istiods", m.GetIstiods(), maxIstiods, checkIstiod),
		text("istio_version", m.GetIstioVersion(), maxName),
		text("mesh_root_namespace", m.GetMeshRootNamespace(), maxName),
		texts("missing_proxies", m.GetMissingProxies(), maxMissing, maxText),
		ucount("missing_count", m.GetMissingCount(), maxCount),
		ucount("connected_proxies", m.GetConnectedProxies(), maxCount),
		each("gateways", m.GetGateways(), maxGateways, checkGateway),
		texts("ambient_namespaces", m.GetAmbientNamespaces(), maxNamespaces, maxName),
		each("findings", m.GetFindings(), maxFindings, checkFinding),
		text("network", m.GetNetwork(), maxName),
		text("istio_cluster_id", m.GetIstioClusterId(), maxName),
	)
}

func checkIstiod(i *pb.Istiod) *refusal {
	return firstOf(
		text("istiod name", i.GetName(), maxName),
		text("istiod uid", i.GetUid(), maxName),
		address("istiod address", i.GetAddress()),
		text("istiod error", i.GetError(), maxText),
		pairs("remote_clusters", i.GetRemoteClusters(), maxRemoteClusters, maxName),
	)
}

func checkGateway(g *pb.GatewayFacts) *refusal {
	return firstOf(
		text("gateway name", g.GetName(), 2*maxName+1),
		each("gateway addresses", g.GetAddresses(), maxAddresses, func(s string) *refusal { return anyAddress("gateway address", s) }),
		checkLoad(g.GetLoad()),
	)
}

func checkFinding(f *pb.Finding) *refusal {
	switch f.GetSeverity() {
	case "Error", "Warning", "Info":
	default:
		return invalid("finding: severity %q is none of Error, Warning, Info", clip(f.GetSeverity()))
	}
	return firstOf(
		text("finding check", f.GetCheck(), maxName),
		text("finding subject", f.GetSubject(), maxText),
		text("finding message", f.GetMessage(), maxText),
		text("finding remedy", f.GetRemedy(), maxText),
	)
}

func checkLoad(l *pb.Load) *refusal {
	return firstOf(
		ucount("arrivals", l.GetArrivals(), math.MaxInt64),
		ucount("in_flight", l.GetInFlight(), math.MaxInt32),
		ucount("quiet_scrapes", l.GetQuietScrapes(), math.MaxInt32),
		count("load age_ms", l.GetAgeMs(), maxAgeMillis),
		finite("rate", l.GetRate()),
		texts("callers", l.GetCallers(), maxCallers, maxText),
		ucount("unmeshed_arrivals", l.GetUnmeshedArrivals(), math.MaxInt64),
		ucount("unmeshed_quiet_scrapes", l.GetUnmeshedQuietScrapes(), math.MaxInt32),
		ucount("idle_seconds", uint64(l.GetIdleSeconds()), math.MaxInt32),
	)
}

func checkService(s *pb.ServiceFacts) *refusal {
	if r := checkRef(s.GetRef()); r != nil {
		return r
	}
	if r := oneOf("service type", s.GetType(), "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Headless"); r != nil {
		return r
	}
	return firstOf(
		text("service uid", s.GetUid(), maxName),
		text("service resource_version", s.GetResourceVersion(), maxName),
		count("created_unix", s.GetCreatedUnix(), math.MaxInt32*int64(100)),
		pairs("annotations", s.GetAnnotations(), maxAnnotations, maxAnnotation),
		address("cluster_ip", s.GetClusterIp()),
		each("ports", s.GetPorts(), maxPorts, checkPort),
		text("session_affinity", s.GetSessionAffinity(), maxName),
		text("internal_traffic_policy", s.GetInternalTrafficPolicy(), maxName),
		text("traffic_distribution", s.GetTrafficDistribution(), maxName),
		each("pods", s.GetPods(), maxPods, checkPod),
		each("workloads", s.GetWorkloads(), maxWorkloads, checkWorkload),
		each("rules", s.GetRules(), maxRules, checkRule),
		pairs("selector", s.GetSelector(), maxSelector, maxName),
		each("budgets", s.GetBudgets(), maxBudgets, checkBudget),
	)
}

func checkBudget(b *pb.DisruptionBudget) *refusal {
	most := int64(maxCount)
	if b.GetPercent() {
		most = 100
	}
	return firstOf(
		text("budget name", b.GetName(), maxName),
		count("budget amount", b.GetAmount(), most),
		count("budget other_pods", b.GetOtherPods(), maxCount),
		count("budget other_ready", b.GetOtherReady(), int64(b.GetOtherPods())),
	)
}

func oneOf(what, got string, allowed ...string) *refusal {
	if slices.Contains(allowed, got) {
		return nil
	}
	return invalid("%s: %q is none of %q", what, clip(got), allowed)
}

func checkPort(p *pb.Port) *refusal {
	return firstOf(
		text("port name", p.GetName(), maxName),
		text("port protocol", p.GetProtocol(), maxName),
		text("port app_protocol", p.GetAppProtocol(), maxName),
		count("port", p.GetPort(), math.MaxUint16),
		count("target_port", p.GetTargetPort(), math.MaxUint16),
	)
}

func checkPod(p *pb.Pod) *refusal {
	if err := checkName("pod name", p.GetName()); err != nil {
		return invalid("%s", err)
	}
	return firstOf(
		text("pod uid", p.GetUid(), maxName),
		address("pod ip", p.GetIp()),
		text("pod workload", p.GetWorkload(), 2*maxName),
		text("pod resource_version", p.GetResourceVersion(), maxName),
		count("fence_generation", p.GetFenceGeneration(), math.MaxInt64),
		checkLoad(p.GetLoad()),
	)
}

func checkWorkload(w *pb.WorkloadFacts) *refusal {
	return firstOf(
		text("workload kind", w.GetKind(), maxName),
		text("workload name", w.GetName(), maxName),
		count("workload replicas", w.GetReplicas(), maxCount),
		count("workload ready", w.GetReady(), maxCount),
		text("workload binding", w.GetBinding(), 2*maxName),
	)
}

// checkRule accepts an object only as JSON, and only one that fits its bounds: readers decode it without looking again.
func checkRule(r *pb.Rule) *refusal {
	if len(r.GetObject()) > maxRuleBytes {
		return tooMuch("rule %s/%s: %d bytes, %d at most", clip(r.GetNamespace()), clip(r.GetName()), len(r.GetObject()), maxRuleBytes)
	}
	if !json.Valid(r.GetObject()) {
		return invalid("rule %s/%s: its object is not JSON", clip(r.GetNamespace()), clip(r.GetName()))
	}
	return firstOf(
		text("rule api_version", r.GetApiVersion(), maxName),
		text("rule kind", r.GetKind(), maxName),
		text("rule namespace", r.GetNamespace(), maxName),
		text("rule name", r.GetName(), maxName),
		text("rule resource_version", r.GetResourceVersion(), maxName),
	)
}

func checkProof(p *pb.ProofFacts) *refusal {
	return firstOf(
		checkRef(p.GetRef()),
		checkVerdict("weights", p.GetWeights()),
		checkVerdict("fence", p.GetFence()),
		checkVerdict("rules", p.GetRules()),
	)
}

func checkVerdict(what string, v *pb.Verdict) *refusal {
	if v == nil {
		return nil
	}
	return firstOf(
		oneOf(what+" level", v.GetLevel(), "None", "Timed", "Proven"),
		count(what+" generation", v.GetGeneration(), math.MaxInt64),
		count(what+" age_ms", v.GetAgeMs(), maxAgeMillis),
		each(what+" istiods", v.GetIstiods(), maxIstiods, checkIstiodVerdict),
		texts(what+" missing", v.GetMissing(), maxVerdictOut, maxText),
		ucount(what+" missing_count", v.GetMissingCount(), maxCount),
		texts(what+" unweighted", v.GetUnweighted(), maxVerdictOut, maxText),
		each(what+" reasons", v.GetReasons(), maxVerdictOut, func(m *pb.Missing) *refusal {
			return firstOf(
				text("reason kind", m.GetKind(), maxName),
				text("reason subject", m.GetSubject(), maxText),
				text("reason message", m.GetMessage(), maxText),
			)
		}),
	)
}

func checkIstiodVerdict(i *pb.IstiodVerdict) *refusal {
	return firstOf(
		text("istiod name", i.GetName(), maxName),
		text("istiod push", i.GetPush(), maxName),
		ucount("proxy_count", i.GetProxyCount(), maxCount),
		each("proxies", i.GetProxies(), maxProxies, func(p *pb.ProxyVerdict) *refusal {
			return firstOf(text("proxy name", p.GetName(), 2*maxName+1), text("proxy acked", p.GetAcked(), maxName))
		}),
	)
}
