// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"time"

	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/view"
)

// What package view has, as it goes over the wire, and back. Nothing is judged here.

var statusNames = map[view.Status]string{view.True: "True", view.False: "False", view.Unknown: "Unknown"}

var statuses = map[string]view.Status{"True": view.True, "False": view.False, "Unknown": view.Unknown}

func nodeToWire(n *view.Node) *pb.NodeResource {
	return &pb.NodeResource{
		Name: n.Name, Allocatable: amountsToWire(n.Allocatable), Reserved: amountsToWire(n.Reserved), Allocated: amountsToWire(n.Allocated),
		Labels: labelsToWire(n.Labels), Taints: taintsToWire(n.Taints), Conditions: conditionsToWire(n.Conditions),
	}
}

func nodeFromWire(n *pb.NodeResource) *view.Node {
	return &view.Node{
		Name: n.GetName(), Allocatable: amountsFromWire(n.GetAllocatable()), Reserved: amountsFromWire(n.GetReserved()),
		Allocated: amountsFromWire(n.GetAllocated()), Labels: labelsFromWire(n.GetLabels()), Taints: taintsFromWire(n.GetTaints()),
		Conditions: conditionsFromWire(n.GetConditions()),
	}
}

func eventToWire(e *view.Event, incarnation uint64, age time.Duration) *pb.NodeDelta {
	d := &pb.NodeDelta{
		EventSequenceId: e.Sequence, EventId: view.IDOf(incarnation, e),
		AgeMs: min(max(0, age.Milliseconds()), maxAgeMillis),
	}
	switch e.Kind {
	case view.NodeAdded:
		d.Change = &pb.NodeDelta_NodeAdded{NodeAdded: nodeToWire(e.Node)}
	case view.NodeUpdated:
		d.Change = &pb.NodeDelta_NodeUpdated{NodeUpdated: changeToWire(e)}
	case view.NodeDeleted:
		d.Change = &pb.NodeDelta_NodeDeleted{NodeDeleted: &pb.NodeGone{Name: e.Name, Cordoned: e.Cordoned}}
	case view.PodAssigned:
		d.Change = &pb.NodeDelta_PodAssigned{PodAssigned: podToWire(e)}
	case view.PodDeleted:
		d.Change = &pb.NodeDelta_PodDeleted{PodDeleted: podToWire(e)}
	}
	return d
}

func podToWire(e *view.Event) *pb.PodChange {
	return &pb.PodChange{Node: e.Name, Uid: e.Pod, Requests: amountsToWire(e.Amounts)}
}

func changeToWire(e *view.Event) *pb.NodeChange {
	n := &pb.NodeChange{Name: e.Name}
	if e.Changed&view.FieldAllocatable != 0 {
		n.Allocatable = &pb.Amounts{Amounts: amountsToWire(e.Node.Allocatable)}
	}
	if e.Changed&view.FieldReserved != 0 {
		n.Reserved = &pb.Amounts{Amounts: amountsToWire(e.Node.Reserved)}
	}
	if e.Changed&view.FieldLabels != 0 {
		n.Labels = &pb.NodeLabels{Labels: labelsToWire(e.Node.Labels)}
	}
	if e.Changed&view.FieldTaints != 0 {
		n.Taints = &pb.NodeTaints{Taints: taintsToWire(e.Node.Taints)}
	}
	if e.Changed&view.FieldConditions != 0 {
		n.Conditions = &pb.NodeConditions{Conditions: conditionsToWire(e.Node.Conditions)}
	}
	return n
}

func eventFromWire(d *pb.NodeDelta) view.Event {
	e := view.Event{Sequence: d.GetEventSequenceId(), ID: d.GetEventId()}
	switch change := d.GetChange().(type) {
	case *pb.NodeDelta_NodeAdded:
		e.Kind, e.Name, e.Node = view.NodeAdded, change.NodeAdded.GetName(), nodeFromWire(change.NodeAdded)
	case *pb.NodeDelta_NodeUpdated:
		e.Kind, e.Name = view.NodeUpdated, change.NodeUpdated.GetName()
		e.Changed, e.Node = changeFromWire(change.NodeUpdated)
	case *pb.NodeDelta_NodeDeleted:
		e.Kind, e.Name, e.Cordoned = view.NodeDeleted, change.NodeDeleted.GetName(), change.NodeDeleted.GetCordoned()
	case *pb.NodeDelta_PodAssigned:
		e.Kind = view.PodAssigned
		podFromWire(&e, change.PodAssigned)
	case *pb.NodeDelta_PodDeleted:
		e.Kind = view.PodDeleted
		podFromWire(&e, change.PodDeleted)
	}
	return e
}

func podFromWire(e *view.Event, p *pb.PodChange) {
	e.Name, e.Pod, e.Amounts = p.GetNode(), p.GetUid(), amountsFromWire(p.GetRequests())
}

func changeFromWire(c *pb.NodeChange) (view.Fields, *view.Node) {
	var fields view.Fields
	n := &view.Node{Name: c.GetName()}
	if c.GetAllocatable() != nil {
		fields |= view.FieldAllocatable
		n.Allocatable = amountsFromWire(c.GetAllocatable().GetAmounts())
	}
	if c.GetReserved() != nil {
		fields |= view.FieldReserved
		n.Reserved = amountsFromWire(c.GetReserved().GetAmounts())
	}
	if c.GetLabels() != nil {
		fields |= view.FieldLabels
		n.Labels = labelsFromWire(c.GetLabels().GetLabels())
	}
	if c.GetTaints() != nil {
		fields |= view.FieldTaints
		n.Taints = taintsFromWire(c.GetTaints().GetTaints())
	}
	if c.GetConditions() != nil {
		fields |= view.FieldConditions
		n.Conditions = conditionsFromWire(c.GetConditions().GetConditions())
	}
	return fields, n
}

// convert maps a list; nothing stays nothing.
func convert[From, To any](list []From, one func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	out := make([]To, 0, len(list))
	for _, v := range list {
		out = append(out, one(v))
	}
	return out
}

func amountsToWire(a view.Amounts) []*pb.Amount {
	return convert(a, func(m view.Amount) *pb.Amount { return &pb.Amount{Name: m.Name, Value: m.Value} })
}

func amountsFromWire(list []*pb.Amount) view.Amounts {
	return convert(list, func(a *pb.Amount) view.Amount { return view.Amount{Name: a.GetName(), Value: a.GetValue()} })
}

func labelsToWire(labels []view.Label) []*pb.NodeLabel {
	return convert(labels, func(l view.Label) *pb.NodeLabel { return &pb.NodeLabel{Key: l.Key, Value: l.Value} })
}

func labelsFromWire(list []*pb.NodeLabel) []view.Label {
	return convert(list, func(l *pb.NodeLabel) view.Label { return view.Label{Key: l.GetKey(), Value: l.GetValue()} })
}

func taintsToWire(taints []view.Taint) []*pb.NodeTaint {
	return convert(taints, func(t view.Taint) *pb.NodeTaint {
		return &pb.NodeTaint{Key: t.Key, Value: t.Value, Effect: t.Effect}
	})
}

func taintsFromWire(list []*pb.NodeTaint) []view.Taint {
	return convert(list, func(t *pb.NodeTaint) view.Taint {
		return view.Taint{Key: t.GetKey(), Value: t.GetValue(), Effect: t.GetEffect()}
	})
}

func conditionsToWire(c view.Conditions) []*pb.NodeCondition {
	var out []*pb.NodeCondition
	for kind, name := range view.ConditionNames {
		if status := c.Of(view.Condition(kind)); status != view.NotSaid {
			out = append(out, &pb.NodeCondition{Type: name, Status: statusNames[status]})
		}
	}
	return out
}

func conditionsFromWire(list []*pb.NodeCondition) view.Conditions {
	var out view.Conditions
	for _, c := range list {
		for kind, name := range view.ConditionNames {
			if name == c.GetType() {
				out = out.With(view.Condition(kind), statuses[c.GetStatus()])
			}
		}
	}
	return out
}
