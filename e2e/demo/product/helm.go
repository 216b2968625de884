// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package product

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/weir-io/weir/e2e/rig"
)

// installLimit is how long a release may take to become ready.
const installLimit = 3 * time.Minute

// release is one installation of the chart.
type release struct {
	name   string
	chart  string
	values map[string]any
}

// install installs a release into a cluster, or upgrades the one that is there, and waits until all of it is ready.
func install(ctx context.Context, c *rig.Cluster, r release) error {
	config, err := c.REST()
	if err != nil {
		return err
	}
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := cfg.Init(&getter{config: config}, Namespace, "secret"); err != nil {
		return fmt.Errorf("cluster %q: helm: %w", c.Name, err)
	}
	chart, err := loader.Load(r.chart)
	if err != nil {
		return fmt.Errorf("chart %s: %w", r.chart, err)
	}
	switch _, err := action.NewGet(cfg).Run(r.name); {
	case err == nil:
		return upgrade(ctx, c, cfg, chart, r)
	case !errors.Is(err, driver.ErrReleaseNotFound):
		return fmt.Errorf("cluster %q: helm get %s: %w", c.Name, r.name, err)
	}
	in := action.NewInstall(cfg)
	in.ReleaseName, in.Namespace, in.CreateNamespace = r.name, Namespace, true
	in.WaitStrategy, in.Timeout = kube.StatusWatcherStrategy, installLimit
	if _, err := in.RunWithContext(ctx, chart, r.values); err != nil {
		return fmt.Errorf("cluster %q: helm install %s: %w", c.Name, r.name, err)
	}
	return nil
}

// upgrade brings a release to the chart and the image of now. The image's name is the same as before, so pods are made
// anew.
func upgrade(ctx context.Context, c *rig.Cluster, cfg *action.Configuration, chart chart.Charter, r release) error {
	up := action.NewUpgrade(cfg)
	up.Namespace, up.WaitStrategy, up.Timeout = Namespace, kube.StatusWatcherStrategy, installLimit
	if _, err := up.RunWithContext(ctx, r.name, chart, r.values); err != nil {
		return fmt.Errorf("cluster %q: helm upgrade %s: %w", c.Name, r.name, err)
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	selector := "app.kubernetes.io/instance=" + r.name
	err = client.CoreV1().Pods(Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("cluster %q: start %s anew: %w", c.Name, r.name, err)
	}
	return c.WaitPodsReady(ctx, Namespace, selector, 1, installLimit)
}

// getter gives Helm the rig's way into a cluster, which goes through the
// cluster's network namespace.
type getter struct{ config *rest.Config }

// ToRESTConfig implements genericclioptions.RESTClientGetter.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	d, err := discovery.NewDiscoveryClientForConfig(g.config)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(d), nil
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	d, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(d), nil
}

// ToRawKubeConfigLoader implements genericclioptions.RESTClientGetter. Helm
// takes nothing from it but the default namespace.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: Namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}
