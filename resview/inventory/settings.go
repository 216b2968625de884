// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
)

// settings is what no informer tells: it is asked for now and then.
type settings struct {
	mesh meshSettings
	// meshError says why mesh holds defaults, and meshRemedy what helps; empty: it was read.
	meshError, meshRemedy string
	// versions are those of istiods, by processOf.
	versions       map[string]string
	fenceAdmission bool
	// exportVersion is the version in which ServiceExports are served and read; empty: they are not.
	exportVersion string
}

const (
	meshConfigMap = "istio"
	meshKey       = "mesh"

	askTimeout   = 5 * time.Second
	maxVersion   = 256 // bytes of istiod's answer that are read
	admissionAPI = "admissionregistration.k8s.io/v1"
	admissionFor = "mutatingadmissionpolicies"
)

// reader asks for settings.
type reader struct {
	kube      kubernetes.Interface
	namespace string
	version   func(ctx context.Context, address string) (string, error)
}

// read returns the settings as they are now. What cannot be read stays as it was in last. An error means that the API
// server did not answer.
func (r *reader) read(ctx context.Context, last settings, istiods []*corev1.Pod) (settings, error) {
	out := settings{versions: map[string]string{}, fenceAdmission: last.fenceAdmission}
	resources, err := servedBy(ctx, r.kube.Discovery(), admissionAPI)
	if err != nil {
		return last, err
	}
	out.fenceAdmission = resources[admissionFor]
	if err := r.mesh(ctx, &out, istiods); err != nil {
		return last, err
	}
	for _, p := range istiods {
		process := processOf(p)
		if v := last.versions[process]; v != "" {
			out.versions[process] = v
		} else if v := r.ask(ctx, p); v != "" {
			out.versions[process] = v
		}
	}
	return out, nil
}

// mesh reads the settings of the mesh into out: those of the first istiod's revision, since a member has one mesh.
func (r *reader) mesh(ctx context.Context, out *settings, istiods []*corev1.Pod) error {
	name := meshConfigMap
	if len(istiods) > 0 {
		if rev := env(discoveryOf(istiods[0]), "REVISION"); rev != "" && rev != "default" {
			name += "-" + rev
		}
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	m, err := r.kube.CoreV1().ConfigMaps(r.namespace).Get(asking, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return fmt.Errorf("get ConfigMap %s/%s: %w", r.namespace, name, err)
	}
	out.mesh.drain = defaultDrain
	switch {
	case apierrors.IsForbidden(err):
		out.meshError = "the agent may not read ConfigMap " + name
		out.meshRemedy = "allow the agent to get ConfigMap " + name + " in namespace " + r.namespace
	case err != nil:
		out.meshError = "there is no ConfigMap " + name
		out.meshRemedy = "set the agent's Istio namespace to the one with istiod's ConfigMap"
	default:
		out.readMesh(m.Data[meshKey])
	}
	return nil
}

// readMesh reads the text of the mesh's settings.
func (s *settings) readMesh(text string) {
	s.meshError, s.meshRemedy = "", ""
	var err error
	if s.mesh, err = parseMesh(text); err != nil {
		s.meshError, s.meshRemedy = err.Error(), "correct the text under the key mesh"
	}
}

// ask returns an istiod's version: by its own word, else by its image's tag; empty where neither tells.
func (r *reader) ask(ctx context.Context, p *corev1.Pod) string {
	if p.Status.PodIP != "" && isReady(p) {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		if v, err := r.version(asking, net.JoinHostPort(p.Status.PodIP, portDebug)); err == nil && v != "" {
			return clip(shortVersion(v), maxVersion)
		}
	}
	if c := discoveryOf(p); c != nil {
		return imageVersion(c.Image)
	}
	return ""
}

// askIstiod asks an istiod at host:port of its debug endpoints for its version, which needs no identity.
func askIstiod(client *http.Client) func(context.Context, string) (string, error) {
	return func(ctx context.Context, address string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/version", http.NoBody)
		if err != nil {
			return "", fmt.Errorf("ask istiod %s for its version: %w", address, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", fmt.Errorf("ask istiod for its version: %w", err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return "", fmt.Errorf("ask istiod %s for its version: %s", address, resp.Status)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxVersion))
		if err != nil {
			return "", fmt.Errorf("ask istiod %s for its version: %w", address, err)
		}
		version := strings.TrimSpace(string(body))
		if strings.ContainsFunc(version, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return "", errors.New("ask istiod " + address + " for its version: the answer is no version")
		}
		return version, nil
	}
}

// servedBy returns the resources that the API server serves in a group version; none where it does not know it.
func servedBy(ctx context.Context, d discovery.DiscoveryInterface, groupVersion string) (map[string]bool, error) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	list, err := discovery.ToServerResourcesInterfaceWithContext(d).ServerResourcesForGroupVersionWithContext(asking, groupVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask what the API server serves of %s: %w", groupVersion, err)
	}
	out := map[string]bool{}
	for _, r := range list.APIResources {
		out[r.Name] = true
	}
	return out, nil
}
