// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/resview/stream"
	"github.com/weir-io/weir/resview/view"
)

// What each member has, as far as its view tells.
const (
	nodesEach   = 100
	nodeCPU     = 32_000
	nodeMemory  = 128 << 30
	nodePods    = 110
	viewVersion = 1
)

// memberName is that of the i-th member.
func memberName(i int) string { return fmt.Sprintf("m%03d", i) }

// views are what the hub knows of members: nodes of one size, all free, at any time.
type views map[string]stream.MemberView

// View implements schedule.Views.
func (v views) View(cluster string) (stream.MemberView, bool) {
	m, ok := v[cluster]
	m.ReceivedAt = time.Now()
	m.ConfirmedAt = m.ReceivedAt
	return m, ok
}

// newViews gives each of n members a view.
func newViews(n int) (views, error) {
	out := views{}
	for i := range n {
		book := view.NewBook(1)
		for k := range nodesEach {
			node := view.Node{Name: fmt.Sprintf("n%d", k), Allocatable: view.MakeAmounts(map[string]int64{
				view.CPU: nodeCPU, view.Memory: nodeMemory, view.Pods: nodePods,
			})}
			node.Conditions = node.Conditions.With(view.Ready, view.True)
			if err := book.Add(&node); err != nil {
				return nil, fmt.Errorf("view of %s: %w", memberName(i), err)
			}
		}
		book.Seal(viewVersion)
		out[memberName(i)] = stream.MemberView{Cluster: memberName(i), View: book.View(), InStep: true, Fresh: 30 * time.Second}
	}
	return out, nil
}

// register makes the Clusters of n members.
func register(ctx context.Context, c client.Client, n int) error {
	bundle, err := authority()
	if err != nil {
		return err
	}
	for i := range n {
		m := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: memberName(i)}}
		m.Spec.APIEndpoint, m.Spec.CABundle = "https://"+memberName(i)+".example.test:6443", bundle
		if err := c.Create(ctx, m); err != nil {
			return fmt.Errorf("register %s: %w", m.Name, err)
		}
	}
	return nil
}

// authority is a certificate authority that nobody uses, as a Cluster must name one.
func authority() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
