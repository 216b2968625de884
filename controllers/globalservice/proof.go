// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package globalservice

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/hub"
	"github.com/weir-io/weir/resview/pb"
)

// claim picks one of the verdicts of a member's prover.
type claim func(*pb.ProofFacts) *pb.Verdict

// fold makes one proof of every member's verdict. It is as good as the worst of them, and as old as the oldest. A
// member that is not heard is missing by name; one whose rules could not be written is too.
func fold(in *input, of claim, generation int64, unwritten map[string]error) v1alpha1.ProofStatus {
	out := v1alpha1.ProofStatus{Level: v1alpha1.ProofProven, Lease: v1alpha1.LeaseHeld, Generation: generation}
	var missing []string
	var oldest *time.Time
	asked, silent := 0, false // silent: some member has said nothing of this generation
	unnamed := 0              // missing proxies that a member counts and does not name
	for _, m := range in.rulesGoTo() {
		asked++
		if err := unwritten[m.name]; err != nil {
			out.Level, silent = v1alpha1.ProofNone, true
			missing = append(missing, m.name+"/api server: "+short(m.name, err))
			continue
		}
		verdict := of(m.proof)
		switch {
		case !m.seen:
			missing = append(missing, m.name+"/agent: not heard")
		case verdict == nil || verdict.GetGeneration() != generation:
			missing = append(missing, fmt.Sprintf("%s/prover: has not told yet whether its proxies hold generation %d", m.name, generation))
		default:
			missing = append(missing, merge(&out, m, verdict)...)
			unnamed += max(0, int(verdict.GetMissingCount())-len(verdict.GetMissing()))
			at := m.proofAt.Add(-time.Duration(verdict.GetAgeMs()) * time.Millisecond)
			if oldest == nil || at.Before(*oldest) {
				oldest = &at
			}
			continue
		}
		out.Level, silent = v1alpha1.ProofNone, true
	}
	if asked == 0 {
		out.Level = v1alpha1.ProofNone
		missing = append(missing, "no member with an istiod is known")
	}
	if oldest != nil && !silent {
		t := metav1.NewTime(oldest.Truncate(time.Second))
		out.SeenAt = &t
	}
	// What is no proxy stands first, so that no cut can make it seem as if only proxies were missing.
	slices.SortStableFunc(missing, func(a, b string) int { return boolCompare(isProxy(a), isProxy(b)) })
	out.MissingCount = int32(len(missing) + unnamed) //nolint:gosec // bounded by the messages' limits.
	out.Missing = hub.ClipAll(missing[:min(len(missing), v1alpha1.MaxMissing)], v1alpha1.MaxMessage)
	slices.Sort(out.Unweighted)
	out.Unweighted = slices.Compact(out.Unweighted)
	out.Unweighted = hub.ClipAll(out.Unweighted[:min(len(out.Unweighted), v1alpha1.MaxMissing)], v1alpha1.MaxMessage)
	return out
}

// merge adds one member's verdict to a proof, and returns who is missing there.
func merge(out *v1alpha1.ProofStatus, m memberView, v *pb.Verdict) []string {
	level := v1alpha1.ProofLevel(v.GetLevel())
	if rank(level) < rank(out.Level) {
		out.Level = level
	}
	if v.GetNeedsNewGeneration() {
		out.Lease = v1alpha1.LeaseLapsed
	}
	for _, u := range v.GetUnweighted() {
		out.Unweighted = append(out.Unweighted, m.name+"/"+u)
	}
	for _, i := range v.GetIstiods() {
		proof := v1alpha1.IstiodProof{Name: m.name + "/" + i.GetName(), Push: i.GetPush(), ProxyCount: int32(i.GetProxyCount())} //nolint:gosec // bounded.
		for _, p := range i.GetProxies() {
			if len(proof.Proxies) == v1alpha1.MaxProxies {
				break
			}
			proof.Proxies = append(proof.Proxies, v1alpha1.ProxyProof{Name: p.GetName(), Acked: p.GetAcked()})
		}
		if len(out.Istiods) < v1alpha1.MaxIstiods {
			out.Istiods = append(out.Istiods, proof)
		}
	}
	if level == v1alpha1.ProofProven {
		return nil
	}
	var missing []string
	for _, r := range v.GetReasons() {
		missing = append(missing, fmt.Sprintf("%s/%s: %s", m.name, strings.TrimSpace(strings.ToLower(r.GetKind())+" "+r.GetSubject()), r.GetMessage()))
	}
	for _, s := range v.GetMissing() {
		missing = append(missing, m.name+"/proxy "+s)
	}
	if len(missing) == 0 {
		missing = []string{m.name + "/prover: not proven yet"}
	}
	return missing
}

func rank(l v1alpha1.ProofLevel) int {
	switch l {
	case v1alpha1.ProofProven:
		return 2
	case v1alpha1.ProofTimed:
		return 1
	case v1alpha1.ProofNone:
	}
	return 0
}

// isProxy says whether a line of what is missing names a proxy, as "cluster/proxy name: why".
func isProxy(line string) bool {
	_, who, _ := strings.Cut(line, "/")
	return strings.HasPrefix(who, "proxy ")
}
