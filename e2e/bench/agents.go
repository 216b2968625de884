// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/weir-io/weir/controllers/identity"
	"github.com/weir-io/weir/resview/pb"
	"github.com/weir-io/weir/resview/recorder"
	"github.com/weir-io/weir/resview/stream"
)

// agent is the part of an agent that tells of nodes: its recorder, on an API server that is made up, and its end of the wire.
type agent struct {
	name string
	kube kubernetes.Interface
	pods int
}

// startAgents gives each of n members a token and an agent that dials the hub, and keeps its key in a folder. They end with
// the context; the group says of each what went wrong.
func startAgents(ctx context.Context, running *errgroup.Group, g Ground, hub kubernetes.Interface, keys string, n int) ([]*agent, error) {
	address, ca, err := identity.Published(ctx, hub, hubNamespace)
	if err != nil {
		return nil, err
	}
	agents := make([]*agent, 0, n)
	for i := range n {
		a := &agent{name: memberName(i), kube: fake.NewClientset(someNodes(nodesEach)...)}
		token, record, err := stream.NewToken(a.name, time.Now().Add(time.Hour))
		if err != nil {
			return nil, err
		}
		if _, err := hub.CoreV1().Secrets(hubNamespace).Create(ctx, identity.TokenSecret(hubNamespace, record), metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("store the token of %s: %w", a.name, err)
		}
		seen, err := recorder.New(recorder.Config{Kube: a.kube})
		if err != nil {
			return nil, err
		}
		client, err := stream.NewClient(stream.ClientConfig{
			Hub: address, Cluster: a.name, Nodes: seen, Vault: stream.Dir(filepath.Join(keys, a.name)),
			HubCA: func() ([]byte, error) { return ca, nil },
			Token: func() (string, error) { return token, nil },
			Hello: func(context.Context) *pb.Hello { return &pb.Hello{} },
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
				// Each from its own address, as members are: the hub lets few join from one.
				return g.Dial(ctx, net.ParseIP(fmt.Sprintf("127.0.1.%d", i+1)), "tcp", to)
			})},
		})
		if err != nil {
			return nil, err
		}
		running.Go(func() error { return seen.Run(ctx) })
		running.Go(func() error { return client.Run(ctx) })
		agents = append(agents, a)
	}
	return agents, nil
}

// someNodes are n nodes that are ready, of one size.
func someNodes(n int) []runtime.Object {
	out := make([]runtime.Object, 0, n)
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		out = append(out, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(nodeCPU, resource.DecimalSI),
					corev1.ResourceMemory: *resource.NewQuantity(nodeMemory, resource.BinarySI),
					corev1.ResourcePods:   *resource.NewQuantity(nodePods, resource.DecimalSI),
				},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	return out
}

// come has a pod come to a node of the member, each time to the next one.
func (a *agent) come(ctx context.Context) error {
	name := fmt.Sprintf("p%d", a.pods)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("n%d", a.pods%nodesEach), Containers: []corev1.Container{{
			Name:      "app",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}},
		}}},
	}
	a.pods++
	if _, err := a.kube.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	return nil
}
