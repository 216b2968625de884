// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// HubConfigMap is the ConfigMap that tells people who join a cluster where the hub is and whom to trust.
const HubConfigMap = "weir-hub"

// Keys of HubConfigMap.
const (
	KeyAddress = "address"
	KeyCA      = "ca.crt"
)

// Publish writes HubConfigMap.
func Publish(ctx context.Context, c kubernetes.Interface, namespace, address string, ca []byte) error {
	cm := corev1ac.ConfigMap(HubConfigMap, namespace).WithData(map[string]string{KeyAddress: address, KeyCA: string(ca)})
	_, err := c.CoreV1().ConfigMaps(namespace).Apply(ctx, cm, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", namespace, HubConfigMap, err)
	}
	return nil
}

// Published reads HubConfigMap.
func Published(ctx context.Context, c kubernetes.Interface, namespace string) (address string, ca []byte, err error) {
	cm, err := c.CoreV1().ConfigMaps(namespace).Get(ctx, HubConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil, fmt.Errorf("no ConfigMap %s/%s: is weir's hub installed and running there? (--namespace says where)", namespace, HubConfigMap)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, HubConfigMap, err)
	}
	return cm.Data[KeyAddress], []byte(cm.Data[KeyCA]), nil
}
