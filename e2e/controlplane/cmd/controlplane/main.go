// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane is every control-plane part of the rig in one program: etcd, the Kubernetes API server,
// controller-manager, scheduler, kubelet and kube-proxy, and Istio's own validator.
//
// Which part runs is chosen by the name the program is called by (the rig makes one hard link a part) or, called as
// "controlplane", by its first argument. One program means that a fleet of clusters shares one copy of its text.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// parts maps the name of a part to what runs it. Each returns the exit code of the process.
var parts = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(kcm.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kube-proxy":              func() int { return cli.Run(kubeproxy.NewProxyCommand()) },
	"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"istio-validate":          func() int { return validate(os.Stdin, os.Stdout, os.Stderr) },
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == "controlplane" && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = append(os.Args[:1], os.Args[2:]...)
	}
	run, ok := parts[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "controlplane: no part is called %q\n", name)
		os.Exit(2)
	}
	os.Exit(run())
}
