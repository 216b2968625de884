// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"errors"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func (r *Record) raise(t *testing.T, held, floor int64) int64 {
	t.Helper()
	got, err := r.Raise(t.Context(), held, floor)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAnEpochIsGivenOnceAndAboveAllThatWereFound(t *testing.T) {
	kube := fake.NewClientset()
	a := &Record{Client: kube, Namespace: namespace, Leader: "pod/hub-a/1"}
	b := &Record{Client: kube, Namespace: namespace, Leader: "pod/hub-b/2"}
	first := a.raise(t, 0, 0)
	if first != 1 {
		t.Errorf("the first is %d", first)
	}
	if again := a.raise(t, first, 20); again != 21 {
		t.Errorf("above 20 is %d", again)
	}
	newer := b.raise(t, 0, 3)
	if newer != 22 {
		t.Errorf("the next leader has %d", newer)
	}
	if got := a.raise(t, 21, 50); got != 0 {
		t.Errorf("who leads no more got %d", got)
	}
	if got := b.raise(t, newer, newer); got != 23 {
		t.Errorf("who leads got %d", got)
	}
	cm, err := kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), EpochConfigMap, metav1.GetOptions{})
	if err != nil || cm.Data[KeyLeader] != "pod/hub-b/2" {
		t.Errorf("%v, %v", cm, err)
	}
}

func TestARecordThatWasLostIsMadeAnewAboveWhatIsHeld(t *testing.T) {
	kube := fake.NewClientset()
	a := &Record{Client: kube, Namespace: namespace}
	if got := a.raise(t, 7, 3); got != 8 {
		t.Errorf("got %d", got)
	}
}

func TestOfTwoThatRaiseAtOnceEachGetsItsOwn(t *testing.T) {
	kube := fake.NewClientset()
	a, b := &Record{Client: kube, Namespace: namespace, Leader: "a"}, &Record{Client: kube, Namespace: namespace, Leader: "b"}
	a.raise(t, 0, 0)
	var other int64
	kube.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if other > 0 {
			return false, nil, nil
		}
		other = -1
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: EpochConfigMap}, Data: map[string]string{KeyEpoch: "2", KeyLeader: "a"}}
		if err := kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), cm, namespace); err != nil {
			t.Error(err)
		}
		other = 2
		return true, nil, apierrors.NewConflict(corev1.Resource("configmaps"), EpochConfigMap, errors.New("it has changed"))
	})
	if got := b.raise(t, 0, 0); got != 3 {
		t.Errorf("got %d beside %d", got, other)
	}
}

func TestNoEpochIsGivenThatMembersCannotRead(t *testing.T) {
	a := &Record{Client: fake.NewClientset(), Namespace: namespace}
	for _, floor := range []int64{maxEpoch, math.MaxInt64} {
		if got, err := a.Raise(t.Context(), 0, floor); err == nil {
			t.Errorf("above %d it gave %d", floor, got)
		}
	}
	if got, err := a.Raise(t.Context(), 0, 0); err != nil || got != 1 {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestARecordThatIsNoNumberIsToldWithTheWayOut(t *testing.T) {
	var kube *fake.Clientset
	var a *Record
	for _, said := range []string{"many", "-3", "9223372036854775807", "999999999999999999"} {
		kube = fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: EpochConfigMap}, Data: map[string]string{KeyEpoch: said}})
		a = &Record{Client: kube, Namespace: namespace}
		if _, err := a.Raise(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "delete the ConfigMap") {
			t.Errorf("%s: got %v", said, err)
		}
	}
	kube.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("down") })
	if _, err := a.Raise(t.Context(), 0, 0); err == nil || !strings.Contains(err.Error(), "down") {
		t.Errorf("got %v", err)
	}
}
