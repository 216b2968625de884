// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/api/v1alpha1"
)

// EpochPolicy begins the names of the admission policies in a member that refuse the writes of older leaders.
const EpochPolicy = "weir-epoch"

// EpochManager is the field manager of FederationEpochs, and of epochs that are written on objects before these are deleted.
const EpochManager = "weir-epoch"

var epochRef = Ref{Resource: v1alpha1.GroupVersion.WithResource("federationepochs"), Name: v1alpha1.FederationEpochName}

const (
	// lookEpoch is how often a hub that has nothing to write looks whether a member is still its own.
	lookEpoch = time.Minute
	// A policy follows what it refers to within milliseconds; for this long it is waited for at once.
	proofTries = 10
	proofPause = 100 * time.Millisecond
	// takeTries is how often a member is looked at again when its epoch changed between the look and the write.
	takeTries = 4
)

// hold is what this term knows of the epoch of one member.
type hold struct {
	turn chan struct{} // who takes it holds this

	mu     sync.Mutex
	sure   bool  // a write bears what the member asks for, by the last look
	wrote  int64 // what this term wrote there last; 0: nothing
	tried  int64 // the highest that it sent there, of which the answer may have been lost
	looked time.Time
	raised time.Time // when the term last took a higher epoch for it
	takes  int       // how often it was tried
	err    error     // why the last try failed
}

func newHold() *hold { return &hold{turn: make(chan struct{}, 1)} }

// stands says whether writes of this epoch may go on.
func (h *hold) stands(epoch int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sure && epoch > 0 && h.wrote == epoch
}

func (h *hold) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.takes
}

func (h *hold) last() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// mayRaise says whether the term may take a higher epoch for this member: that has every other one written to again, and a
// member says what it likes.
func (h *hold) mayRaise(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.raised) >= lookEpoch
}

// didRaise notes that it took one.
func (h *hold) didRaise(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.raised = now
}

// doubt has the member looked at before anything else is written there.
func (h *hold) doubt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sure = false
}

// Epoch is the one that this hub's writes in the member bear; 0: it has taken none there.
func (m *Member) Epoch() int64 {
	m.hold.mu.Lock()
	defer m.hold.mu.Unlock()
	if !m.hold.sure {
		return 0
	}
	return m.hold.wrote
}

// Held is the epoch that this hub's writes in the member bear, or why there is none.
func (m *Member) Held() (int64, error) {
	if epoch := m.Epoch(); epoch > 0 {
		return epoch, nil
	}
	if err := m.hold.last(); err != nil {
		return 0, err
	}
	return 0, &HoldError{m.name, v1alpha1.ReasonEpochNotTaken, "its epoch is being taken"}
}

// take makes the member's epoch that of the term, if it is not yet. Who waits for another's try gets its result.
func (m *Member) take(ctx context.Context) error {
	h := m.hold
	if h.stands(m.term.Epoch()) {
		return nil
	}
	if m.term.Epoch() == 0 {
		return &HoldError{m.name, v1alpha1.ReasonEpochNotTaken, "the hub's term has not begun"}
	}
	before := h.count()
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if h.stands(m.term.Epoch()) {
		return nil
	}
	if h.count() != before && h.last() != nil {
		return h.last()
	}
	err := m.takeNow(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takes++
	h.err, h.sure, h.looked = err, err == nil, m.now()
	return err
}

func (m *Member) takeNow(ctx context.Context) error {
	for range takeTries {
		found, live, err := m.epoch(ctx)
		if err != nil {
			return err
		}
		again, err := m.compare(ctx, found, live)
		if err != nil {
			return err
		}
		if again {
			continue
		}
		epoch := m.term.Epoch()
		if found == nil || found.Epoch < epoch {
			err := m.writeEpoch(ctx, live, epoch)
			if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
				continue
			}
			if err != nil {
				return err
			}
		}
		return m.prove(ctx, epoch)
	}
	return &HoldError{m.name, v1alpha1.ReasonEpochNotTaken, "its epoch changes at each look: several leaders take it at once"}
}

// compare says of what a member holds whether this term may write its epoch over it: an error where not, and again where
// the term has taken a higher one for it.
func (m *Member) compare(ctx context.Context, found *v1alpha1.FederationEpochSpec, live *unstructured.Unstructured) (again bool, err error) {
	if found == nil {
		return false, nil
	}
	if found.HubUID != m.term.hubUID {
		return false, &HoldError{m.name, v1alpha1.ReasonOtherHub, fmt.Sprintf(
			"it belongs to another hub, the one whose namespace kube-system has the UID %s (epoch %d), and refuses this one: delete the Cluster object here; or, if it shall be this hub's from now on, run kubectl weir join %s --take-over",
			found.HubUID, found.Epoch, m.name)}
	}
	m.hold.mu.Lock()
	wrote, tried := m.hold.wrote, m.hold.tried
	m.hold.mu.Unlock()
	newer := &HoldError{m.name, v1alpha1.ReasonNewerLeader, fmt.Sprintf(
		"a newer leader of this hub, or a copy of it that was restored from a backup, has taken it with epoch %d, and this one only reads there: if there are two hubs of one identity, stop the one that is not wanted; a hub that is started anew takes its members again",
		found.Epoch)}
	epoch := m.term.Epoch()
	switch {
	case found.Epoch > epoch+leap:
		return false, &HoldError{m.name, v1alpha1.ReasonEpochNotTaken, fmt.Sprintf(
			"its epoch is %d, which no leader of this hub, whose own is %d, can have come to: find out who wrote it, and delete it there with kubectl delete federationepoch %s, it is made anew",
			found.Epoch, epoch, epochRef.Name)}
	case wrote > 0 && found.Epoch > max(wrote, tried) && taken(found, live):
		return false, newer // nothing is raised over who has come after this term.
	case found.Epoch < epoch || found.Epoch == epoch && wrote == epoch:
		return false, nil
	}
	if !m.hold.mayRaise(m.now()) {
		return false, &HoldError{m.name, v1alpha1.ReasonEpochNotTaken, fmt.Sprintf(
			"its epoch is %d, higher again although the hub has taken a higher one for it less than a minute ago: find out who writes it", found.Epoch)}
	}
	led, err := m.term.above(ctx, found.Epoch)
	if err != nil {
		return false, fmt.Errorf("cluster %q: %w", m.name, err)
	}
	if !led {
		return false, newer
	}
	m.hold.didRaise(m.now())
	return true, nil
}

// taken says whether it was a leader that wrote an epoch: its mark is what it says. What a person has given to a hub bears
// another, and any leader of that hub may take it.
func taken(found *v1alpha1.FederationEpochSpec, live *unstructured.Unstructured) bool {
	return live.GetAnnotations()[v1alpha1.AnnotationEpoch] == strconv.FormatInt(found.Epoch, 10)
}

// epoch reads what the member holds; nil: nothing.
func (m *Member) epoch(ctx context.Context) (*v1alpha1.FederationEpochSpec, *unstructured.Unstructured, error) {
	live, err := m.resource(epochRef).Get(ctx, epochRef.Name, metav1.GetOptions{})
	m.note(err)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, nil
	case apierrors.IsForbidden(err):
		return nil, nil, m.noKind()
	case err != nil:
		return nil, nil, fmt.Errorf("cluster %q: read %s: %w", m.name, epochRef, err)
	}
	var e v1alpha1.FederationEpoch
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &e); err != nil {
		return nil, nil, fmt.Errorf("cluster %q: read %s: %w", m.name, epochRef, err)
	}
	return &e.Spec, live, nil
}

// noKind is the error where the agent's release does not know of epochs.
func (m *Member) noKind() error {
	return &HoldError{
		m.name, v1alpha1.ReasonEpochNotTaken,
		"it does not know the kind FederationEpoch, or gives the hub no right to it, so nothing may be written there: install its agent's release, or upgrade it to the version of the hub",
	}
}

// writeEpoch writes it over what was read, nil: nothing was.
func (m *Member) writeEpoch(ctx context.Context, live *unstructured.Unstructured, epoch int64) error {
	m.hold.mu.Lock()
	m.hold.tried = max(m.hold.tried, epoch)
	m.hold.mu.Unlock()
	want := &unstructured.Unstructured{Object: map[string]any{}}
	if live != nil {
		want = live.DeepCopy()
	}
	want.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FederationEpoch"))
	want.SetName(epochRef.Name)
	want.SetLabels(with(want.GetLabels(), LabelManaged, LabelManagedValue))
	want.SetAnnotations(marksOf(want.GetAnnotations(), m.term.hubUID, epoch))
	want.Object["spec"] = map[string]any{"hubUID": m.term.hubUID, "epoch": epoch}
	var err error
	if live == nil {
		_, err = m.resource(epochRef).Create(ctx, want, metav1.CreateOptions{FieldManager: EpochManager})
	} else {
		_, err = m.resource(epochRef).Update(ctx, want, metav1.UpdateOptions{FieldManager: EpochManager})
	}
	m.note(err)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) && !byPolicy(err):
		return m.noKind()
	case err != nil:
		return fmt.Errorf("cluster %q: write %s: %w", m.name, epochRef, err)
	}
	m.hold.mu.Lock()
	defer m.hold.mu.Unlock()
	m.hold.wrote = epoch
	return nil
}

// prove tries, without effect, what an older leader would do, and wants it refused: that an epoch stands says nothing yet of
// whether anything there asks for it. The policy follows the epoch within milliseconds, and a new policy within half a minute.
func (m *Member) prove(ctx context.Context, epoch int64) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q},"annotations":{%q:%q,%q:"%d"}}}`,
		LabelManaged, LabelManagedValue, v1alpha1.AnnotationHub, m.term.hubUID, v1alpha1.AnnotationEpoch, epoch-1)
	var err error
	for try := range proofTries {
		if try > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(proofPause):
			}
		}
		_, err = m.resource(epochRef).Patch(ctx, epochRef.Name, types.MergePatchType, patch, metav1.PatchOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: EpochManager,
		})
		m.note(err)
		if byPolicy(err) {
			return nil
		}
		if silent(err) {
			return fmt.Errorf("cluster %q: see whether an older epoch is refused: %w", m.name, err)
		}
	}
	says := "it admits what an older leader would write"
	if err != nil {
		says = err.Error()
	}
	return &HoldError{m.name, v1alpha1.ReasonEpochNotTaken, fmt.Sprintf(
		"its admission policies %s* of the agent's release do not hold, so nothing may be written there: new ones take up to half a minute, and missing ones come back with an upgrade of the release (%s)", EpochPolicy, says)}
}

// byPolicy says whether a write was refused since it bears another epoch, or another hub, than the member asks for. An API
// server that cannot make sense of the policy gives another reason.
func byPolicy(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+EpochPolicy)
}

// Unresolved says whether a write was refused since the member's API server, for about half a minute after its start, has not
// found the kind yet that the policies take their parameters from. Its reason is Invalid, and its text alone tells.
func Unresolved(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+EpochPolicy) && strings.Contains(err.Error(), "failed to configure policy")
}

// confirm looks whether the member still is this term's, if nobody has for a while.
func (m *Member) confirm(ctx context.Context) error {
	m.hold.mu.Lock()
	due := !m.now().Before(m.hold.looked.Add(lookEpoch))
	m.hold.mu.Unlock()
	if !due || !m.hold.stands(m.term.Epoch()) {
		return m.take(ctx)
	}
	return m.look(ctx)
}

// look reads the epoch, and takes it again where it is not as this term wrote it.
func (m *Member) look(ctx context.Context) error {
	found, _, err := m.epoch(ctx)
	if err != nil {
		return err
	}
	m.hold.mu.Lock()
	same := found != nil && found.HubUID == m.term.hubUID && found.Epoch == m.hold.wrote
	m.hold.sure = m.hold.sure && same
	m.hold.looked = m.now()
	m.hold.mu.Unlock()
	return m.take(ctx)
}
