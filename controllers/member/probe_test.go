// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-io/weir/controllers/fleettest"
)

func TestAnyAnswerOfAnAPIServerIsContactAndSilenceIsNone(t *testing.T) {
	b := newBench(t)
	m := b.open(t)
	if err := m.Probe(t.Context()); err != nil {
		t.Errorf("nothing of that name stands there, and that is silence: %v", err)
	}
	b.server.Fail(func(fleettest.Request) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "destinationrules"}, "x", errors.New("no right"))
	})
	if err := m.Probe(t.Context()); err != nil {
		t.Errorf("a refusal is silence: %v", err)
	}
	b.server.Stop()
	if err := m.Probe(t.Context()); !errors.Is(err, ErrNotConnected) {
		t.Errorf("an API server that is off answers: %v", err)
	}
}
