// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/controllers/member"
	"github.com/weir-io/weir/resview/liveness"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/stream"
)

// beatGrain is how old lastBeat in status may be while beats come in time: not every beat is worth a write.
const beatGrain = time.Minute

// input is everything one look at a Cluster rests on.
type input struct {
	cluster  *v1alpha1.Cluster
	snapshot *stream.Snapshot // nil: not admitted
	door     error            // why its API server cannot be written to; nil: it can
	epoch    error            // why the hub's epoch is not taken there; nil: it is, or nobody asked
	contact  contact          // how it stands by agent and API server
	view     stream.MemberView
	now      time.Time
}

// statusOf says what is known of a member. It reads nothing but its input.
func statusOf(in input) v1alpha1.ClusterStatus {
	c := in.cluster
	status := *c.Status.DeepCopy()
	status.ObservedGeneration = c.Generation
	interval, suspectAfter := c.Spec.Heartbeat()
	alive := liveness.Verdict{State: liveness.Unknown}
	if in.snapshot != nil {
		alive = liveness.Judge(liveness.Input{
			Thresholds: liveness.Thresholds{BeatInterval: interval, SuspectAfter: int(suspectAfter)}, LastBeat: in.snapshot.LastBeat, Now: in.now,
		})
		known(&status, in, alive)
		status.View = summaryOf(status.View, in.view, in.now)
	}
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: c.Generation,
		})
	}
	healthy(in, alive, set)
	ready(in, alive, status, set)
	return status
}

// known takes over what the member said in this life of the hub.
func known(status *v1alpha1.ClusterStatus, in input, alive liveness.Verdict) {
	snap := in.snapshot
	if h := snap.Hello; h != nil {
		if status.Agent == nil {
			status.Agent = &v1alpha1.AgentStatus{}
		}
		status.Agent.Version, status.KubernetesVersion = h.GetAgentVersion(), h.GetKubernetesVersion()
		if snap.Connected {
			t := hub.Time(snap.Since)
			status.Agent.ConnectedAt = &t
		}
		if last := status.Agent.LastBeat; !snap.LastBeat.IsZero() &&
			(last == nil || snap.LastBeat.Sub(last.Time) > beatGrain || alive.State != liveness.Healthy) {
			t := hub.Time(snap.LastBeat)
			status.Agent.LastBeat = &t
		}
	}
	m := snap.Member.Value
	if m == nil {
		return
	}
	status.Findings = findings(m.GetFindings())
	status.IngressAddresses = ingress(status.IngressAddresses, m.GetGateways())
	if len(m.GetIstiods()) == 0 {
		status.Istio = nil
		return
	}
	istio := &v1alpha1.IstioStatus{
		Version: m.GetIstioVersion(), ClusterID: m.GetIstioClusterId(), Network: m.GetNetwork(),
		ConnectedProxies: int32(m.GetConnectedProxies()), //nolint:gosec // bounded by the messages' limits.
		// A member names some of them only, and tells how many there are.
		MissingProxyCount: int32(max(m.GetMissingCount(), uint32(len(m.GetMissingProxies())))), //nolint:gosec // bounded by the messages' limits.
		MissingProxies:    m.GetMissingProxies()[:min(len(m.GetMissingProxies()), 20)],
	}
	for _, i := range m.GetIstiods()[:min(len(m.GetIstiods()), 20)] {
		istio.Istiods = append(istio.Istiods, i.GetName())
	}
	istio.Gateways = eastWest(m.GetGateways())
	status.Istio = istio
}

// maxGateways is how many east-west gateways a status holds, and how many addresses of each.
const maxGateways = 20

// eastWest are the member's gateways for other networks, by name; of two of one name the first counts.
func eastWest(all []*pb.GatewayFacts) []v1alpha1.EastWestGateway {
	var out []v1alpha1.EastWestGateway
	for _, g := range all {
		if !g.GetEastWest() || len(out) == maxGateways {
			continue
		}
		name := hub.Clip(g.GetName(), 512)
		if slices.ContainsFunc(out, func(have v1alpha1.EastWestGateway) bool { return have.Name == name }) {
			continue
		}
		addresses := slices.Clone(g.GetAddresses())
		slices.Sort(addresses)
		addresses = slices.Compact(addresses)
		out = append(out, v1alpha1.EastWestGateway{Name: name, Addresses: addresses[:min(len(addresses), maxGateways)]})
	}
	slices.SortFunc(out, func(a, b v1alpha1.EastWestGateway) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ingress are the addresses by which clients from outside enter the member. Gateways that restart are not seen for a
// while, and their address stays that of their Service: what was told last is kept while none is told.
func ingress(old []string, all []*pb.GatewayFacts) []string {
	var out []string
	for _, g := range all {
		if !g.GetEastWest() {
			out = append(out, g.GetAddresses()...)
		}
	}
	if len(out) == 0 {
		return old
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxGateways)]
}

// maxFindings is how many findings a status holds.
const maxFindings = 50

// findings are the first of what the member's preflight found.
func findings(found []*pb.Finding) []v1alpha1.ClusterFinding {
	var out []v1alpha1.ClusterFinding
	for _, f := range found[:min(len(found), maxFindings)] {
		out = append(out, v1alpha1.ClusterFinding{
			Check: hub.Clip(f.GetCheck(), 63), Severity: v1alpha1.FindingSeverity(f.GetSeverity()),
			Subject: hub.Clip(f.GetSubject(), 512), Message: f.GetMessage(), Remedy: f.GetRemedy(),
		})
	}
	return out
}

type setter func(kind string, value metav1.ConditionStatus, reason, message string)

func healthy(in input, alive liveness.Verdict, set setter) {
	switch {
	case in.snapshot == nil || in.snapshot.Hello == nil && in.cluster.Status.Agent == nil:
		set(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, "NeverHeard", "its agent was never heard: install it with the values that kubectl weir join wrote")
	case in.contact.Reason == liveness.Returning:
		set(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, string(in.contact.State), "it is heard again, and counts as healthy when that has lasted for a minute")
	case in.contact.State == liveness.Dead:
		set(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, string(liveness.Dead), "neither its agent nor its API server is heard: nothing new is placed there, and nothing is moved away for that alone; "+lastView(in))
	case in.contact.State == liveness.Partitioned:
		set(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, string(liveness.Partitioned), "neither its agent nor its API server is heard, and traffic to it succeeds: it is cut off from the hub, and kept; "+lastView(in))
	case in.contact.Reason == liveness.FleetSilent:
		set(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, string(liveness.FleetSilent), "much of the fleet is silent at once: look at the hub's own network first; "+lastView(in))
	case alive.State == liveness.Healthy:
		set(v1alpha1.ConditionHealthy, metav1.ConditionTrue, "Beating", "its agent is heard in time")
	case alive.State == liveness.Suspect:
		set(v1alpha1.ConditionHealthy, metav1.ConditionFalse, "Suspect", "beats are missing; nothing is moved for that")
	default:
		set(v1alpha1.ConditionHealthy, metav1.ConditionUnknown, v1alpha1.ReasonContactLost, "its agent is not heard; "+lastView(in))
	}
}

// lastView says what is known of a member that is not heard. Its time stands still as long as it is so.
func lastView(in input) string {
	v := in.cluster.Status.View
	if in.view.View != nil {
		v = summed(in.view, in.now)
	}
	if v == nil || v.TrueAt == nil {
		return "what is shown is what it said last"
	}
	return fmt.Sprintf("what is shown is what it said last, of its nodes view %d of %s", v.Version, v.TrueAt.UTC().Format(time.RFC3339))
}

// elsewhere says whether somebody else holds the member, which is so whether or not its agent is heard.
func elsewhere(held *member.HoldError) bool {
	return held != nil && held.Reason != v1alpha1.ReasonEpochNotTaken
}

func ready(in input, alive liveness.Verdict, status v1alpha1.ClusterStatus, set setter) {
	c := in.cluster
	unserved := c.Spec.Unserved()
	held := notHeld(in.epoch)
	switch err := v1alpha1.ValidateCABundle(c.Spec.CABundle); {
	case len(unserved) > 0:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotSupported, "this build does not serve "+strings.Join(unserved, ", ")+"; nothing is written to the member")
	case err != nil:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, "BadCABundle", err.Error())
	case noCredentials(in.door):
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNoCredentials, in.door.Error())
	case elsewhere(held):
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, held.Reason, held.Message)
	case alive.State == liveness.Unknown && in.door == nil && in.snapshot != nil:
		set(v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonAgentSilent,
			"its agent is not heard, though its API server answers, so the cluster is not off: look at the agent there (kubectl -n weir-system get pods) and at its way to the hub")
	case alive.State == liveness.Unknown:
		set(v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonContactLost, "neither its agent nor its API server is heard: it is off, or cut off from the hub")
	case in.door != nil:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, "APIServerSilent", "its API server does not answer the hub")
	case held != nil:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, held.Reason, held.Message)
	case !in.snapshot.APIServerHealthy:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, "APIServerUnhealthy", "its agent says that its own API server does not answer")
	case status.Istio != nil && status.Istio.ClusterID != "" && status.Istio.ClusterID != c.IstioID():
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, "IstioClusterIDDiffers", fmt.Sprintf(
			"Istio there calls the cluster %q, the spec says %q: set spec.istioClusterID to %q", status.Istio.ClusterID, c.IstioID(), status.Istio.ClusterID))
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, "Joined", "weir sees it and can write to it")
	}
}
