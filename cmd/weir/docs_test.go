// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/weir-io/weir/dns/server"
	"github.com/weir-io/weir/dns/table"
)

// operations is the document that explains flags and metrics, unless another one in its folder does.
const operations = "docs/operations.md"

// rows reads the tables of the documents: the cells of each row that begins with a text in backquotes, by the heading
// that it stands under.
func rows(t *testing.T) map[string][][]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	var text strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(raw)
		text.WriteString("\n# End of a file\n")
	}
	out := map[string][][]string{}
	heading := ""
	for line := range strings.SplitSeq(text.String(), "\n") {
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimLeft(line, "# ")
		}
		if strings.HasPrefix(line, "| `") {
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			out[heading] = append(out[heading], cells)
		}
	}
	return out
}

func TestEveryFlagIsInTheOperationsGuideWithItsDefaultAndNoOther(t *testing.T) {
	for _, name := range []string{"POD_NAMESPACE", "POD_NAME", "POD_UID", "POD_IP"} {
		t.Setenv(name, "")
	}
	said := rows(t)
	root := newCommand()
	check := func(heading string, flags *pflag.FlagSet) {
		have := map[string]string{}
		for _, cells := range said[heading] {
			if len(cells) != 3 || have[cells[0]] != "" {
				t.Errorf("%s, %q: row %q: want each flag once, as flag, default, meaning", operations, heading, cells)
				continue
			}
			have[cells[0]] = cells[1]
		}
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Name == "version" {
				return
			}
			key, value := "`--"+f.Name+"`", ""
			if f.DefValue != "" {
				value = "`" + f.DefValue + "`"
			}
			says, ok := have[key]
			delete(have, key)
			if !ok || f.DefValue != "" && says != value || f.DefValue == "" && strings.HasPrefix(says, "`") {
				t.Errorf("%s, under %q: want a row such as\n| %s | %s | %s |", operations, heading, key, value, f.Usage)
			}
		})
		for key := range have {
			t.Errorf("%s, under %q: there is no flag %s: take its row out", operations, heading, key)
		}
	}
	check("weir", root.PersistentFlags())
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "completion" {
			check("weir "+cmd.Name(), cmd.NonInheritedFlags())
		}
	}
	for heading := range said {
		verb, ok := strings.CutPrefix(heading, "weir ")
		if ok && !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == verb }) {
			t.Errorf("%s: there is no command %q", operations, heading)
		}
	}
}

// A metric as its collector describes it, or as the document does.
type metric struct{ kind, labels string }

// recorder keeps what is registered.
type recorder struct {
	*prometheus.Registry

	metrics map[string]metric
}

func (r *recorder) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 16)
	c.Describe(descs)
	close(descs)
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			return fmt.Errorf("cannot read %s", d)
		}
		r.metrics[m[1]] = metric{kindOf(c), m[2]}
	}
	return r.Registry.Register(c)
}

var described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)".*variableLabels: \{([^}]*)\}\}$`)

func kindOf(c prometheus.Collector) string {
	switch c := c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	case *prometheus.HistogramVec:
		return "histogram"
	case prometheus.Metric:
		var out dto.Metric
		if c.Write(&out) != nil {
			return "unknown"
		}
		switch {
		case out.GetCounter() != nil:
			return "counter"
		case out.GetGauge() != nil:
			return "gauge"
		case out.GetHistogram() != nil:
			return "histogram"
		}
	}
	return "unknown"
}

// registered are the metrics that the hub's server for agents, the agent and the server of names register.
func registered(t *testing.T) map[string]metric {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	r := &recorder{prometheus.NewRegistry(), map[string]metric{}}
	kube := fake.NewClientset()
	if _, _, err := newLink(t.Context(), hubOptions{namespace: "weir-system", advertise: "hub.example.com:443"}, kube, "hub-1", r, log); err != nil {
		t.Fatal(err)
	}
	o := agentOptions{hub: "hub.example.com:443", cluster: "c1", namespace: "weir-system", podName: "agent-0", istioNamespace: "istio-system", rootNamespace: "istio-system"}
	if _, err := newAgent(o, netip.MustParseAddr("192.0.2.1"), &rest.Config{Host: "https://192.0.2.1"}, kube, nil, r, log); err != nil {
		t.Fatal(err)
	}
	if _, err := server.New(server.Config{Listen: []string{":1053"}, Metrics: r, Log: log}); err != nil {
		t.Fatal(err)
	}
	if _, err := table.NewWatcher(table.WatcherConfig{Every: time.Second, Metrics: r, Log: log}); err != nil {
		t.Fatal(err)
	}
	return r.metrics
}

var metricName = regexp.MustCompile(`^weir_[a-z]+(_[a-z]+)+$`)

// written are the metrics whose names stand in the source, with the file.
func written(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == "e2e" || name == "tools" || name == "testdata" || strings.HasPrefix(name, ".") && len(name) > 2):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil && metricName.MatchString(text) {
					out[text] = strings.TrimPrefix(path, "../../")
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryMetricIsInTheOperationsGuideWithItsTypeAndLabelsAndNoOther(t *testing.T) {
	said := map[string]metric{}
	for _, cells := range slices.Concat(slices.Collect(maps.Values(rows(t)))...) {
		name := strings.Trim(cells[0], "`")
		if !metricName.MatchString(name) {
			continue
		}
		if _, twice := said[name]; twice || len(cells) != 4 {
			t.Errorf("%s: row %q: want each metric once, as metric, type, labels, meaning", operations, cells)
			continue
		}
		said[name] = metric{cells[1], strings.NewReplacer("`", "", " ", "").Replace(cells[2])}
	}
	exact, files := registered(t), written(t)
	for name, m := range exact {
		if got, ok := said[name]; ok && got != m {
			t.Errorf("%s: %s is a %s with labels %q, and is said to be %+v", operations, name, m.kind, m.labels, got)
		}
		if files[name] == "" {
			t.Errorf("%s is registered, and its name does not stand in the source as one text", name)
		}
	}
	for name, file := range files {
		if _, ok := said[name]; !ok {
			t.Errorf("%s: %s of %s is missing: add under Metrics\n| `%s` | counter, gauge or histogram | labels | meaning |", operations, name, file, name)
		}
	}
	for name := range said {
		if files[name] == "" {
			t.Errorf("%s: there is no metric %s: take its row out", operations, name)
		}
	}
	if len(exact) < 10 {
		t.Errorf("only %d metrics were registered: the test looked at too little", len(exact))
	}
}
