// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/rig"
)

// Annotate sets an annotation of a Service, as a user does with kubectl annotate. An empty value takes it off.
func Annotate(ctx context.Context, c *rig.Cluster, namespace, service, key, value string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	quoted := "null"
	if value != "" {
		quoted = strconv.Quote(value)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, key, quoted)
	_, err = client.CoreV1().Services(namespace).Patch(ctx, service, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-annotate"})
	if err != nil {
		return fmt.Errorf("cluster %q: annotate service %s/%s: %w", c.Name, namespace, service, err)
	}
	return nil
}

// Call sends one request to a Service from the pod of a cluster's client, through its sidecar, and wants it answered well.
func (c *Case) Call(ctx context.Context, cluster *rig.Cluster, service string) error {
	pod, err := c.Session.Client(ctx, cluster)
	if err != nil {
		return err
	}
	space, err := cluster.PodSpace(demo.Namespace, pod)
	if err != nil {
		return err
	}
	client, err := cluster.Client()
	if err != nil {
		return err
	}
	s, err := client.CoreV1().Services(demo.Namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cluster %q: %w", cluster.Name, err)
	}
	port := strconv.Itoa(int(s.Spec.Ports[0].Port))
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(s.Spec.ClusterIP, port)+"/", http.NoBody)
	if err != nil {
		return err
	}
	r.Host = service + "." + demo.Namespace + ".svc.cluster.local:" + port
	through := &http.Transport{DialContext: space.Dial, DisableKeepAlives: true}
	defer through.CloseIdleConnections()
	answer, err := (&http.Client{Transport: through}).Do(r)
	if err != nil {
		return fmt.Errorf("cluster %q: call %s: %w", cluster.Name, service, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1024))
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("cluster %q: call %s: status %d, %s (%w)", cluster.Name, service, answer.StatusCode, body, err)
	}
	return nil
}
