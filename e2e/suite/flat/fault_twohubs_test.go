// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package flat_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/e2e/demo"
	"github.com/weir-io/weir/e2e/demo/product"
	"github.com/weir-io/weir/e2e/rig"
	"github.com/weir-io/weir/e2e/suite"
	"github.com/weir-io/weir/mesh/istio"
)

var epochs = v1alpha1.GroupVersion.WithResource("federationepochs")

// A second hub takes a member that is not its own, while traffic flows. The first one must find itself shut out there, by the
// member and not by its own manners, say so, and go on when the member is given back.
func TestTheOlderOfTwoHubsIsRefusedByTheMember(t *testing.T) {
	world.Case(t, func(ctx context.Context, c *suite.Case) error {
		c2, err := c.Fleet.Cluster("c2")
		if err != nil {
			return err
		}
		before, err := heldBy(ctx, c2)
		if err != nil {
			return err
		}
		if err := onlyThisEpochWrites(ctx, c, c2, before); err != nil {
			return err
		}
		c.Undo(func(ctx context.Context) error { return giveBack(ctx, c, c2, before.HubUID) })
		second := v1alpha1.FederationEpochSpec{HubUID: "00000000-0000-0000-0000-00000000000b", Epoch: before.Epoch + 1}
		if err := holdAs(ctx, c2, second); err != nil {
			return err
		}
		// Weir writes its rule anew where it is gone, which it may not do here any more.
		if err := drop(ctx, c2); err != nil {
			return err
		}
		if err := c.Until(ctx, 90*time.Second, "the first hub to see that c2 belongs to another", reasonOf(c, v1alpha1.ReasonOtherHub)); err != nil {
			return err
		}
		err = c.Throughout(ctx, 5*time.Second, func(ctx context.Context) (string, error) {
			client, err := c2.Dynamic()
			if err != nil {
				return "", err
			}
			_, err = client.Resource(virtualServices).Namespace(demo.Namespace).Get(ctx, istio.ObjectName(demo.Service, false), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return "", nil
			}
			return "the older hub wrote its rule", err
		})
		if err != nil {
			return err
		}
		if now, err := heldBy(ctx, c2); err != nil || now != second {
			return fmt.Errorf("the older hub took c2 back: %+v (%w)", now, err)
		}
		return nil
	})
}

// giveBack does what an operator does: the hub that leads now takes the member, and its rule is there again.
func giveBack(ctx context.Context, c *suite.Case, member *rig.Cluster, hubUID string) error {
	if err := c.Weir.TakeOver(ctx, member.Name); err != nil {
		return err
	}
	if err := c.Weir.WaitMember(ctx, member.Name, 90*time.Second); err != nil {
		return err
	}
	if now, err := heldBy(ctx, member); err != nil || now.HubUID != hubUID {
		return fmt.Errorf("%s is held by %+v (%w)", member.Name, now, err)
	}
	return c.Weir.WaitService(ctx, demo.Namespace, demo.Service, 90*time.Second)
}

func reasonOf(c *suite.Case, want string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		cluster, err := c.Weir.ClusterOf(ctx, "c2")
		if err != nil {
			return "", err
		}
		ready := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != want {
			return fmt.Sprintf("its condition is %+v", ready), nil
		}
		return "", nil
	}
}

// heldBy reads which hub may write to a member.
func heldBy(ctx context.Context, c *rig.Cluster) (v1alpha1.FederationEpochSpec, error) {
	client, err := c.Dynamic()
	if err != nil {
		return v1alpha1.FederationEpochSpec{}, err
	}
	o, err := client.Resource(epochs).Get(ctx, v1alpha1.FederationEpochName, metav1.GetOptions{})
	if err != nil {
		return v1alpha1.FederationEpochSpec{}, fmt.Errorf("cluster %q: read its epoch: %w", c.Name, err)
	}
	var e v1alpha1.FederationEpoch
	return e.Spec, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e)
}

// holdAs writes who may write, marked as a leader of that hub marks it.
func holdAs(ctx context.Context, c *rig.Cluster, by v1alpha1.FederationEpochSpec) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q,%q:"%d"}},"spec":{"hubUID":%q,"epoch":%d}}`,
		v1alpha1.AnnotationHub, by.HubUID, v1alpha1.AnnotationEpoch, by.Epoch, by.HubUID, by.Epoch)
	_, err = client.Resource(epochs).Patch(ctx, v1alpha1.FederationEpochName, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "second-hub"})
	if err != nil {
		return fmt.Errorf("cluster %q: take it: %w", c.Name, err)
	}
	return nil
}

// onlyThisEpochWrites tries, without effect, what the hub and an older leader of it would write as the hub's account.
func onlyThisEpochWrites(ctx context.Context, c *suite.Case, member *rig.Cluster, held v1alpha1.FederationEpochSpec) error {
	account, err := hubsAccount(ctx, c.Fleet.Hub(), member)
	if err != nil {
		return err
	}
	for name, test := range map[string]struct {
		hub     string
		epoch   int64
		refusal string // part of it; empty: it is admitted
	}{
		"the leader":      {held.HubUID, held.Epoch, ""},
		"an older leader": {held.HubUID, held.Epoch - 1, "a newer leader of the hub has taken this cluster"},
		"another hub":     {"another", held.Epoch + 1, "this cluster belongs to the hub " + held.HubUID},
	} {
		rule := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
			"metadata": map[string]any{
				"name": "weir-nobody", "labels": map[string]any{"app.kubernetes.io/managed-by": "weir"},
				"annotations": map[string]any{v1alpha1.AnnotationHub: test.hub, v1alpha1.AnnotationEpoch: strconv.FormatInt(test.epoch, 10)},
			},
			"spec": map[string]any{"hosts": []any{"nobody.invalid"}, "http": []any{
				map[string]any{"route": []any{map[string]any{"destination": map[string]any{"host": "nobody.invalid"}}}},
			}},
		}}
		_, err := account.Resource(virtualServices).Namespace(demo.Namespace).Create(ctx, rule, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case test.refusal == "" && err != nil:
			return fmt.Errorf("%s is refused: %w", name, err)
		case test.refusal != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.refusal)):
			return fmt.Errorf("%s is not refused as it should be: %w", name, errors.Join(err, errors.New("want: "+test.refusal)))
		}
	}
	return nil
}

// hubsAccount is a client as which the hub comes to a member.
func hubsAccount(ctx context.Context, hub, member *rig.Cluster) (dynamic.Interface, error) {
	client, err := hub.Client()
	if err != nil {
		return nil, err
	}
	secret, err := client.CoreV1().Secrets(product.Namespace).Get(ctx, "weir-member-"+member.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the hub's credentials for %s: %w", member.Name, err)
	}
	theirs, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		return nil, fmt.Errorf("the hub's credentials for %s: %w", member.Name, err)
	}
	config, err := member.REST() // the way there; whom to be is the hub's.
	if err != nil {
		return nil, err
	}
	config.BearerToken, config.BearerTokenFile = theirs.BearerToken, ""
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, "", ""
	return dynamic.NewForConfig(config)
}
