// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/weir-io/weir/e2e/load/echo"
)

//go:embed manifests/*.yaml
var manifests embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").ParseFS(manifests, "manifests/*.yaml"))

// Names of what the manifests make.
const (
	namespace  = "demo"
	serverName = "echo"
	clientName = "client"
)

// hostOf is what clients outside ask ingress gateways for.
func hostOf(service string) string { return service + ".demo.test" }

// server fills in the application's manifest.
type server struct {
	Cluster   string
	Replicas  int
	Ending    echo.Ending
	LedgerDir string
}

// client fills in the manifest of a client in the mesh.
type client struct {
	Cluster            string
	Services           []string
	Rate               float64
	Seed               uint64
	OutDir, ControlDir string
}

// ingress fills in the manifest of the way in.
type ingress struct{ Services []string }

// federated fills in the manifest of the workload that weir divides.
type federated struct {
	Replicas int
	// Policy of its traffic; empty is weir's own.
	Policy string
	// Ending is how a pod ends, and Grace how many seconds it has for that.
	Ending  echo.Ending
	Grace   int
	Members []memberPart
}

// memberPart is what is different in one cluster.
type memberPart struct{ Cluster, LedgerDir string }

// render gives the text of one manifest.
func render(name string, data any) (string, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name+".yaml", data); err != nil {
		return "", fmt.Errorf("manifest %s: %w", name, err)
	}
	return b.String(), nil
}
