// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"strings"
)

// Blocked is one reason why the shift does not go further, and what ends it.
type Blocked struct {
	Code Code `json:"code"`
	// Cluster is where the reason lies; empty where it concerns the whole service.
	Cluster string `json:"cluster,omitempty"`
	// Subject is who holds the shift up: a proxy, a writer, another cluster.
	Subject string `json:"subject,omitempty"`
	// Wakes is the event after which a step is possible, or one reason fewer stands.
	Wakes Event `json:"wakes"`
	// Note is true where the reason is only said and the shift goes on.
	Note bool `json:"note,omitempty"`
	// Have and Need are the numbers behind the reason, in replicas; 0 and 0 where it
	// has none.
	Have int32 `json:"have,omitempty"`
	Need int32 `json:"need,omitempty"`
}

// Sentence says the reason in words, for status and conditions. It holds no time,
// so it does not flap.
func (b Blocked) Sentence() string {
	switch b.Code {
	case RulesUnproven:
		return b.waits("to take the rules")
	case WeightsUnproven:
		return b.waits("to take the new weights")
	case FenceUnproven:
		return b.waits("to take the change of the fence")
	case Foreign:
		return fmt.Sprintf("stopped by rules of others: %s; when they are gone, weir proves its own again before it goes on", strings.TrimSuffix(b.Subject, "."))
	case ProofStale:
		return fmt.Sprintf("waiting for fresh word on the %s: what the clusters told last is older than ten seconds; if this stays, look at weir's agents and at the istiods", b.Subject)
	case HeadroomLost:
		return b.headroom()
	case Unsteered:
		return fmt.Sprintf("%s follows no weights of weir's: it leaves %s when the fence is on", b.Subject, b.Cluster)
	case HalfLeft:
		return fmt.Sprintf("waiting for the drain of %s to be undone: with %s gone too, %s would be left and half of those before are %d; --accept-headroom-loss goes on",
			b.Subject, b.Cluster, count(b.Have, "ready replica"), b.Need)
	case NotReady, NoCapacity, LastCluster, LastCopy, DisruptionBudget, HeldByFloor:
		return b.replicas()
	case DecisionAwaited, RolloutUnderWay, SharedPods:
		return b.others()
	case AutoscalerOwns:
		return b.autoscaler()
	case CannotSee, StillCached, NotQuiet, WorkInFlight, PodsLeaving:
		return b.pods()
	}
	return b.Code.String()
}

// waits says who has not taken a write yet. The subject is a proxy, or who should tell of the proxies and does not: what
// to look at differs.
func (b Blocked) waits(what string) string {
	who, _, _ := strings.Cut(b.Subject, " ")
	switch who {
	case "":
		return "waiting for proxies " + what
	case "agent":
		return fmt.Sprintf("waiting for weir's agent in %s, which is not heard, to tell whether the proxies there are done (they are %s); look at its pod there and at its way to the hub", b.Cluster, what)
	case "prover":
		return fmt.Sprintf("waiting for %s to tell that its proxies are done (they are %s); it is asking them, and if this stays, its agent's log says why", b.Cluster, what)
	case "api":
		return fmt.Sprintf("waiting for the API server of %s, which has not taken what weir writes (its proxies are %s); the condition Ready of the GlobalService says why", b.Cluster, what)
	case "istiod":
		return fmt.Sprintf("waiting for %s of %s to show that its proxies are done (they are %s); look at that pod", b.Subject, b.Cluster, what)
	}
	return fmt.Sprintf("waiting for %s of %s %s", b.Subject, b.Cluster, what)
}

func (b Blocked) headroom() string {
	s := fmt.Sprintf("should %s be lost after %s has gone, %s would carry what needs %d", b.Subject, b.Cluster, count(b.Have, "replica"), b.Need)
	if b.Subject == "" {
		s = fmt.Sprintf("draining %s leaves %s where there were %d: less headroom for the next failure", b.Cluster, count(b.Have, "replica"), b.Need)
	}
	if b.Note {
		return s
	}
	return s + "; waiting for consent (--accept-headroom-loss)"
}

// count is a number of things in words: "1 replica", "2 replicas".
func count(n int32, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func (b Blocked) replicas() string {
	switch b.Code {
	case NotReady:
		return fmt.Sprintf("waiting for replicas of %s: %d of %d are ready; look at its pods", b.Cluster, b.Have, b.Need)
	case LastCluster:
		return fmt.Sprintf("refused: no cluster but %s can serve; bring ready replicas up in another one first", b.Cluster)
	case LastCopy:
		return fmt.Sprintf("refused: the pods of %s are the last ready copies; bring others up in another cluster first", b.Cluster)
	case DisruptionBudget:
		name := ""
		if b.Subject != "" {
			name = " (" + b.Subject + ")"
		}
		return fmt.Sprintf("waiting: a disruption budget%s wants %s ready over all clusters and %d would be left without the pods of %s; bring more up, or change the budget", name, count(b.Need, "replica"), b.Have, b.Cluster)
	case HeldByFloor:
		return fmt.Sprintf("waiting: something else (an autoscaler's minimum) holds %s in %s, wanted: %d", count(b.Have, "replica"), b.Cluster, b.Need)
	default:
		return fmt.Sprintf("waiting for ready replicas, for the traffic of %s: %d ready, %d needed; ask for more, or see why those asked for are not ready", b.Cluster, b.Have, b.Need)
	}
}

func (b Blocked) pods() string {
	switch b.Code {
	case CannotSee:
		return fmt.Sprintf("waiting to hear from %s: nobody can see into it, so its pods stay as they are and it gets no more weight; look at weir's agent there and at its way to the hub", b.Cluster)
	case StillCached:
		return fmt.Sprintf("waiting for DNS caches to forget %s", b.Cluster)
	case NotQuiet:
		return fmt.Sprintf("waiting for quiet in %s: requests still arrive at pods that shall go, or nothing can tell; whoever still calls does so past the mesh (an address, a NodePort, no sidecar) or, across networks, on a connection that it holds; it goes on at --quiet-timeout", b.Cluster)
	case WorkInFlight:
		return fmt.Sprintf("waiting for work in flight in %s to end, or for its limit", b.Cluster)
	default:
		return fmt.Sprintf("waiting for pods of %s to end: there %d, wanted %d", b.Cluster, b.Have, b.Need)
	}
}

func (b Blocked) others() string {
	switch b.Code {
	case DecisionAwaited:
		return "waiting for the scheduler: the division in force was decided before a drain was asked for, or taken back"
	case RolloutUnderWay:
		return fmt.Sprintf("waiting for the rollout in %s: its pods are being replaced; if it is stuck, correct the template or roll it back", b.Cluster)
	default:
		return fmt.Sprintf("waiting for service %s, which is behind the same pods of %s: the fence takes a pod from both, so they leave it together; see what that service waits for, or give it pods of its own", b.Subject, b.Cluster)
	}
}

func (b Blocked) autoscaler() string {
	name := ""
	if b.Subject != "" {
		name = " (" + b.Subject + ")"
	}
	switch {
	case b.Note:
		return fmt.Sprintf("an autoscaler%s keeps %s in %s, decided: %d; weir leaves them", name, count(b.Have, "replica"), b.Cluster, b.Need)
	case b.Wakes == AutoscalerRaised:
		return fmt.Sprintf("waiting: an autoscaler%s asks for %s in %s, needed: %d; raise its minReplicas there to %d, and maxReplicas where that is below (minReplicaCount, maxReplicaCount of a ScaledObject)", name, count(b.Have, "replica"), b.Cluster, b.Need, b.Need)
	}
	return fmt.Sprintf("waiting: a ScaledObject of KEDA%s sets the replicas in %s and would undo what weir lowers; pause it (autoscaling.keda.sh/paused: \"true\") or remove it, and weir goes on", name, b.Cluster)
}
