// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// KubeconfigKey is the key of a credentials Secret that holds the kubeconfig.
const KubeconfigKey = "kubeconfig"

// Limits of one member's connection.
const (
	requestTimeout = 10 * time.Second
	requestRate    = 50
	requestBurst   = 100
	firstBackoff   = time.Second
	longestBackoff = 30 * time.Second
	slowFor        = 2 * time.Minute // how long a member counts as slow that once took too long
)

var (
	// ErrNoCredentials says that the Cluster names no Secret, or that the Secret holds no usable kubeconfig.
	ErrNoCredentials = errors.New("no credentials")
	// ErrNotConnected says that the member did not answer a moment ago and is not asked again yet.
	ErrNotConnected = errors.New("not connected")
)

// Door opens connections to members. It is safe for concurrent use.
type Door struct {
	hub       client.Reader
	namespace string
	term      *Term
	now       func() time.Time
	sweep     time.Duration // for how long members are read when the term begins

	mu      sync.Mutex
	members map[string]*Member
	holds   map[string]heldBy
}

// heldBy is the hold on a member as it is registered: another registration, or another API server, is another member.
type heldBy struct {
	registration string
	hold         *hold
}

// NewDoor returns a door whose credentials Secrets are read from namespace on the hub, and through which term writes.
func NewDoor(hub client.Reader, namespace string, term *Term) *Door {
	return &Door{hub: hub, namespace: namespace, term: term, now: time.Now, sweep: sweepTime, members: map[string]*Member{}, holds: map[string]heldBy{}}
}

// Open returns the connection to a member in which the term's epoch was taken, and takes it where it was not yet. Errors are
// ErrNoCredentials, ErrNotConnected or ErrNotHeld, with the cluster and the way out, or that of a request.
func (d *Door) Open(ctx context.Context, cluster *v1alpha1.Cluster) (*Member, error) {
	if err := d.begin(ctx); err != nil {
		return nil, fmt.Errorf("cluster %q: %w", cluster.Name, err)
	}
	m, err := d.Reach(ctx, cluster)
	if err != nil {
		return nil, err
	}
	if err := m.take(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// confirmTime is how long Confirm may take in one member: others wait for it.
const confirmTime = 5 * time.Second

// Confirm is Open for who writes nothing: it also looks, once a minute, whether the epoch there still is the term's.
func (d *Door) Confirm(ctx context.Context, cluster *v1alpha1.Cluster) error {
	if err := d.begin(ctx); err != nil {
		return fmt.Errorf("cluster %q: %w", cluster.Name, err)
	}
	m, err := d.Reach(ctx, cluster)
	if err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	return m.confirm(timed)
}

// Reach returns the connection to a member, and makes it where the credentials are new, for who reads: what it is told to
// write is refused unless the epoch is held. Errors are ErrNoCredentials or ErrNotConnected, with the cluster and the way out.
func (d *Door) Reach(ctx context.Context, cluster *v1alpha1.Cluster) (*Member, error) {
	if cluster.Spec.CredentialsSecretRef == nil || cluster.Spec.CredentialsSecretRef.Name == "" {
		return nil, fmt.Errorf("cluster %q: %w: set spec.credentialsSecretRef to a Secret with a kubeconfig, or join it with kubectl weir join",
			cluster.Name, ErrNoCredentials)
	}
	key := types.NamespacedName{Namespace: d.namespace, Name: cluster.Spec.CredentialsSecretRef.Name}
	var secret corev1.Secret
	if err := d.hub.Get(ctx, key, &secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("cluster %q: %w: Secret %s does not exist", cluster.Name, ErrNoCredentials, key)
		}
		return nil, fmt.Errorf("cluster %q: read Secret %s: %w", cluster.Name, key, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[cluster.Name]
	made := string(cluster.UID) + "/" + strconv.FormatInt(cluster.Generation, 10) + "/" + secret.ResourceVersion
	if m == nil || m.madeFrom != made {
		fresh, err := d.dial(cluster, &secret)
		if err != nil {
			return nil, err
		}
		fresh.madeFrom = made
		m = fresh
		d.members[cluster.Name] = m
	}
	if m.pause() > 0 {
		// How long still is not told: the error stands in conditions, which would change with every look.
		return nil, fmt.Errorf("cluster %q: %w: its API server did not answer in time, and is asked again within %s", cluster.Name, ErrNotConnected, longestBackoff)
	}
	return m, nil
}

// Forget drops the connection to a member that has left.
func (d *Door) Forget(cluster string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.members, cluster)
	delete(d.holds, cluster)
}

// holdOf is for who has locked mu.
func (d *Door) holdOf(cluster *v1alpha1.Cluster) *hold {
	registration := string(cluster.UID) + "/" + cluster.Spec.APIEndpoint
	h, ok := d.holds[cluster.Name]
	if !ok || h.registration != registration {
		h = heldBy{registration, newHold()}
		d.holds[cluster.Name] = h
	}
	return h.hold
}

// dial makes the connection; nothing is sent yet. It is for who has locked mu.
func (d *Door) dial(cluster *v1alpha1.Cluster, secret *corev1.Secret) (*Member, error) {
	config, err := restConfig(cluster, secret)
	if err != nil {
		return nil, err
	}
	client, err := clientOf(config)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: make client: %w", cluster.Name, err)
	}
	dyn, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: make client: %w", cluster.Name, err)
	}
	return &Member{name: cluster.Name, dynamic: dyn, term: d.term, hold: d.holdOf(cluster), now: d.now}, nil
}
