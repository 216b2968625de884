// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// hostile is a text that would take over a terminal, if it were shown as it is.
const hostile = "\x1b[2Jc9\r\tis \u202eready\n\x07 and goes on: "

func viewed(c v1alpha1.Cluster, version int64, age time.Duration, cpu, used string) v1alpha1.Cluster {
	c.Spec.Region, c.Spec.Zone = map[string]string{"c1": "west", "c2": "west", "c3": "east"}[c.Name], "a"
	c.CreationTimestamp = *at(time.Hour)
	c.Status.View = &v1alpha1.ViewSummary{
		Version: version, TrueAt: at(age), ConfidencePercent: 100, Nodes: 3,
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("24Gi"), "pods": resource.MustParse("330")},
		Allocated:   corev1.ResourceList{"cpu": resource.MustParse(used), "memory": resource.MustParse("6Gi")},
	}
	return c
}

// federated is a fleet of four that holds one federated workload: c3 is not heard, c4 has joined since.
func federated() *fleet {
	rest := atRest()
	f := &fleet{clusters: []v1alpha1.Cluster{
		viewed(rest.Clusters[0], 120, 12*time.Second, "12", "4500m"), viewed(rest.Clusters[1], 77, 30*time.Second, "8", "9"),
		viewed(rest.Clusters[2], 9, 10*time.Minute, "8", "1"), viewed(member1("c4", "Healthy True Beating heard", nil), 3, time.Second, "4", "0"),
	}}
	f.clusters[0].Status.View.Allocatable["example.com/gpu"] = resource.MustParse("4")
	f.clusters[3].CreationTimestamp = *at(time.Minute)
	b := v1alpha1.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-api"}}
	b.Spec.Resource = v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "api"}
	b.Spec.Replicas, b.Spec.WishGeneration = 9, 2
	b.Spec.ResourceNeed = corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}
	b.Spec.Clusters = []v1alpha1.BindingCluster{{Name: "c1", Replicas: 6, ViewVersion: 118}, {Name: "c3", Replicas: 2, ViewVersion: 9}}
	b.Spec.Plan = []v1alpha1.ClusterReplicas{{Name: "c1", Replicas: 6}, {Name: "c2", Replicas: 3}, {Name: "c3", Replicas: 2}}
	row := func(name string, wanted, applied, ready int32, sight v1alpha1.SightState, age time.Duration) v1alpha1.MemberReplicas {
		return v1alpha1.MemberReplicas{Name: name, Wanted: wanted, Applied: applied, Ready: ready, MemberCopy: v1alpha1.MemberCopy{Sync: v1alpha1.SyncSynced, Sight: sight, SeenAt: at(age)}}
	}
	b.Status.Clusters = []v1alpha1.MemberReplicas{
		row("c1", 6, 6, 4, v1alpha1.SightSeen, 5*time.Second), row("c2", 0, 3, 3, v1alpha1.SightSeen, 5*time.Second), row("c3", 2, 2, 2, v1alpha1.SightBlind, 10*time.Minute),
	}
	b.Status.Clusters[0].Pending, b.Status.Clusters[0].Rollout = 1, v1alpha1.RolloutProgressing
	b.Status.Clusters[1].Reason, b.Status.Clusters[1].Message, b.Status.Clusters[1].Sync = "HPA", "HorizontalPodAutoscaler api in c2 owns the replicas", v1alpha1.SyncPending
	b.Status.Unplaced = 1
	b.Status.Shift = v1alpha1.ShiftStatus{Step: "ReplicasUp", Cluster: "c1", Blocked: []v1alpha1.Blocker{
		{Code: "NotReady", Cluster: "c1", Wakes: "ReadyChanged", Message: "2 of 6 replicas of c1 are not ready"},
	}, Notices: []v1alpha1.Notice{{Code: "HeadroomLost", Message: "fewer than before"}}}
	b.Status.Conditions = conditionsOf("Scheduled False Unplaced 1 of 9 replicas without a place", "Propagated True Propagated -")
	b.Status.History = []v1alpha1.DecisionRecord{{Time: *at(time.Hour), Trigger: "Created", Wanted: 9}, {
		Time: *at(3 * time.Minute), Trigger: v1alpha1.TriggerDrain, WishGeneration: 2, Wanted: 9, Unplaced: 1, Clusters: b.Spec.Clusters, ClusterCount: 2, ReasonCount: 3,
		Reasons: []v1alpha1.DecisionReason{
			{Cluster: "c1", Code: "NoRoom", Message: "its nodes have room for 6 in all"},
			{Cluster: "c2", Code: "Drained", Message: "it is being taken out of service"},
			{Cluster: "c9", Code: "NoCluster", Message: "no cluster of this name is registered"},
		},
	}}
	f.bindings = []v1alpha1.ResourceBinding{b}
	f.drains = []v1alpha1.ClusterDrain{*drainObject("c2", func(d *v1alpha1.ClusterDrain) { d.Status.Goal, d.Status.Progress = v1alpha1.GoalDrain, "0/1" })}
	gs := rest.Services[0]
	busy := int64(7)
	gs.Namespace, gs.Name = "shop", "api"
	for i := range gs.Status.Clusters {
		gs.Status.Clusters[i].Binding = "shop/deployment-api"
	}
	gs.Status.Clusters[0].InFlight, gs.Status.Clusters[1].ArrivalsMilliPerSecond = &busy, nil
	f.services = []v1alpha1.GlobalService{gs}
	return f
}

func wish() *v1alpha1.FederatedDeployment {
	d := &v1alpha1.FederatedDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api", Generation: 3}}
	d.Spec.Overrides = []v1alpha1.ClusterOverride{{ClusterName: "c1", ClusterOverrides: []v1alpha1.FieldOverride{{Path: "/spec/template/spec/priorityClassName"}}}}
	return d
}

// infested is the same fleet, in which every text that a member has a hand in is hostile.
func infested() *fleet {
	f := federated()
	long := hostile + strings.Repeat("x", 4000)
	b := &f.bindings[0]
	for i := range b.Status.Shift.Blocked {
		b.Status.Shift.Blocked[i].Message, b.Status.Shift.Blocked[i].Code = long, hostile
	}
	b.Status.Shift.Notices[0].Message, b.Status.Shift.Notices[0].Code = long, hostile
	for i := range b.Status.Clusters {
		b.Status.Clusters[i].Message, b.Status.Clusters[i].Reason = long, hostile
	}
	for i := range b.Status.History[1].Reasons {
		b.Status.History[1].Reasons[i].Message, b.Status.History[1].Reasons[i].Code = long, hostile
	}
	b.Status.Conditions[0].Message, b.Status.Conditions[0].Reason = long, hostile
	for i := range f.clusters {
		for j := range f.clusters[i].Status.Conditions {
			f.clusters[i].Status.Conditions[j].Status, f.clusters[i].Status.Conditions[j].Reason = metav1.ConditionUnknown, hostile
		}
	}
	f.services[0].Status.Clusters[0].Workloads = []string{long}
	f.clusters[0].Status.View.Allocatable[hostile] = resource.MustParse("1")
	return f
}

func empty() *fleet { return &fleet{} }

func undecided() *fleet {
	f := federated()
	f.bindings[0].Status, f.bindings[0].Spec.Clusters, f.bindings[0].Spec.Plan = v1alpha1.ResourceBindingStatus{}, nil, nil
	f.services, f.drains = nil, nil
	return f
}

// TestFleetScreensGolden holds what top and explain show of fixed fleets.
func TestFleetScreensGolden(t *testing.T) {
	fleets := map[string]func() *fleet{"federated": federated, "empty": empty, "undecided": undecided}
	datadriven.RunTest(t, "testdata/fleet.txt", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		f := fleets[strings.TrimSpace(d.Input)]()
		var out bytes.Buffer
		var err error
		switch d.Cmd {
		case "top":
			by := ""
			if d.HasArg("by") {
				d.ScanArgs(t, "by", &by)
			}
			err = topOf(f, by, now).write(&out)
		case "explain":
			w := explainWorkload(f, &f.bindings[0], wish(), now)
			err = w.write(&out)
		case "explain-service":
			e := &explanation{Kind: "GlobalService", Namespace: "shop", Name: "api", Traffic: trafficOf(f, &f.services[0], now)}
			err = e.write(&out)
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.Join(lines, "\n")
	})
}

func TestATextThatSomebodyElseWroteTakesNoTerminalOver(t *testing.T) {
	f := infested()
	w := explainWorkload(f, &f.bindings[0], wish(), now)
	e := &explanation{Kind: "GlobalService", Namespace: "shop", Name: "api", Notes: []string{hostile}, Workloads: []explainedWorkload{w}, Traffic: trafficOf(f, &f.services[0], now)}
	var out bytes.Buffer
	if err := e.write(&out); err != nil {
		t.Fatal(err)
	}
	if err := topOf(f, "", now).write(&out); err != nil {
		t.Fatal(err)
	}
	leaving := &v1alpha1.LeavingStatus{Step: "Copies", Waiting: []string{hostile + strings.Repeat("y", 4000)}}
	out.WriteString(leavingLine("c2", leaving))
	u := &unjoined{Cluster: "c2", Left: leaving.Waiting}
	if err := u.print(&options{}, &out); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\r\x07\u202e\t") {
		t.Errorf("it would be obeyed:\n%q", out.String())
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if strings.HasPrefix(line, " and goes on") {
			t.Errorf("a text has made a line of its own: %q", line)
		}
		if len(line) > 3000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if !strings.Contains(out.String(), `\x1b[2Jc9\r\tis \u202eready\n`) {
		t.Error("what was in it is not shown")
	}
}

// store puts a fleet on a hub.
func (s *shell) store(f *fleet) *shell {
	s.Helper()
	for i := range f.clusters {
		s.put(&f.clusters[i])
	}
	for i := range f.services {
		s.put(&f.services[i])
	}
	for i := range f.drains {
		s.put(&f.drains[i])
	}
	for i := range f.bindings {
		f.bindings[i].UID = types.UID("b")
		s.put(&f.bindings[i])
	}
	return s
}
