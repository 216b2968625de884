// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/controllers/identity"
	"github.com/weir-io/weir/resview/stream"
)

// joinFlags are what join is told.
type joinFlags struct {
	kubeconfig  string
	context     string
	namespace   string
	apiEndpoint string
	region      string
	zone        string
	istioID     string
	tokenTTL    time.Duration
	values      string
	release     string
	takeOver    bool

	// given says whether a flag was given.
	given func(flag string) bool
}

func newJoin(o *options) *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "join CLUSTER",
		Short: "Register a member and write the values for its agent",
		Long: `join registers a member on the hub: it makes an account for the hub in the member (with no rights yet: the agent's chart
binds them), keeps its credentials in a Secret on the hub, makes the Cluster object and a join token that serves once (in a
Secret of the member), and writes the values with which the agent's chart is then installed in the member.

It may be run again for the same member. What flags say then goes into the Cluster, and what they do not say stays. The hub's
credentials and the join token are made anew, and the older ones serve no more. An agent that runs takes the new token
when it dials next; its present certificate stays valid, and only deleting the Cluster ends that.

A member that belongs to another hub is refused before anything is changed. --take-over takes it: from then on the other hub
can write nothing there. What that one has made stays, and this hub takes over what it finds.`,
		Example: "  kubectl weir join c2 --member-context c2 --region west\n  helm install weir-agent charts/weir --kube-context c2 -n weir-system -f c2-values.yaml",
		Args:    exactly(1, "the name of the member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return runJoin(cmd.Context(), o, f, args[0], cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.kubeconfig, "member-kubeconfig", "", "kubeconfig of the member; default: as for the hub")
	fl.StringVar(&f.context, "member-context", "", "context of the member in its kubeconfig")
	fl.StringVar(&f.namespace, "member-namespace", "weir-system", "namespace of weir in the member; made if missing")
	fl.StringVar(&f.apiEndpoint, "api-endpoint", "", "address under which the hub reaches the member's API server; default: as in the member's kubeconfig")
	fl.StringVar(&f.region, "region", "", "region of the member")
	fl.StringVar(&f.zone, "zone", "", "zone of the member")
	fl.StringVar(&f.istioID, "istio-cluster-id", "", "Istio's name of the member; default: CLUSTER")
	fl.DurationVar(&f.tokenTTL, "token-ttl", time.Hour, "how long the join token may be used")
	fl.StringVar(&f.values, "values", "", "file to write the agent's values to, or - for standard output; default: CLUSTER-values.yaml")
	fl.StringVar(&f.release, "release", "weir-agent", "name of the Helm release that will hold the agent")
	fl.BoolVar(&f.takeOver, "take-over", false, "take the member from another hub that it belongs to")
	return cmd
}

// joined is what join reports.
type joined struct {
	Cluster string `json:"cluster"`
	// Registration is New, Updated, or Unchanged.
	Registration string `json:"registration"`
	// Changed are the fields of the Cluster's spec that changed, with what they said and say.
	Changed []string `json:"changed,omitempty"`
	Values  string   `json:"values,omitempty"`
	Expires string   `json:"tokenExpires"`
	// TakenFrom is the UID of another hub's namespace kube-system, to which the member belonged.
	TakenFrom string `json:"takenFrom,omitempty"`

	release string
	// way are the flags by which Helm reaches the member, each with a space before it.
	way string
}

// way are the flags by which Helm reaches the member.
func (f joinFlags) way() string {
	out := ""
	if f.kubeconfig != "" {
		out += " --kubeconfig " + f.kubeconfig
	}
	if f.context != "" {
		out += " --kube-context " + f.context
	}
	return out
}

// validate refuses a command line that cannot be meant.
func (f joinFlags) validate(output string) error {
	if f.kubeconfig == "" && f.context == "" {
		return &ExitError{ExitUsage, errors.New("say which cluster to join: --member-context or --member-kubeconfig")}
	}
	if f.tokenTTL <= 0 {
		return &ExitError{ExitUsage, fmt.Errorf("--token-ttl %s: give a time above 0", f.tokenTTL)}
	}
	if f.values == "-" && output == "json" {
		return &ExitError{ExitUsage, errors.New("--values - and --output json both want standard output: write the values to a file")}
	}
	return nil
}

func runJoin(ctx context.Context, o *options, f joinFlags, name string, out io.Writer) error {
	if err := f.validate(o.output); err != nil {
		return err
	}
	text, record, err := stream.NewToken(name, time.Now().Add(f.tokenTTL))
	if err != nil {
		return &ExitError{ExitUsage, err}
	}
	h, err := o.hub()
	if err != nil {
		return err
	}
	config, err := f.member(o)
	if err != nil {
		return err
	}
	address, ca, err := identity.Published(ctx, h.kube, o.namespace)
	if err != nil {
		return err
	}
	have, err := h.registered(ctx, name, config.CAData)
	if err != nil {
		return err
	}
	from, err := h.takeFrom(ctx, name, config, f.takeOver)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to member %q: %w", name, err)
	}
	m := &membership{kube: kube, namespace: f.namespace}
	report := joined{
		Cluster: name, Values: first(f.values, name+"-values.yaml"), Expires: record.Expires.UTC().Format(time.RFC3339), TakenFrom: from,
		way: f.way(),
	}
	// What is new stands before what is old goes: whoever is interrupted here, or refused, may run it again.
	var account []byte
	if report.release, account, err = m.account(ctx, f, record.ID); err != nil {
		return fmt.Errorf("member %q: %w", name, err)
	}
	if report.Registration, report.Changed, err = h.keep(ctx, o.namespace, have, f.registration(name, config, have), account); err != nil {
		return err
	}
	if err := h.Create(ctx, identity.TokenSecret(o.namespace, record)); err != nil {
		return fmt.Errorf("store the join token: %w", err)
	}
	if err := m.handOver(ctx, text, ca); err != nil {
		return fmt.Errorf("member %q: %w", name, err)
	}
	if _, err := (&identity.Tokens{Client: h.kube, Namespace: o.namespace}).Revoke(ctx, name, record.ID); err != nil {
		return fmt.Errorf("older join tokens of %q may still serve: %w", name, err)
	}
	if err := m.dropOld(ctx, record.ID); err != nil {
		return fmt.Errorf("member %q: older credentials of the hub still serve: %w", name, err)
	}
	return writeValues(o, f, report, address, out)
}

// member is how the caller reaches the member.
func (f joinFlags) member(o *options) (*rest.Config, error) {
	config, err := load(first(f.kubeconfig, o.kubeconfig), f.context, "the member")
	if err != nil {
		return nil, err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("read the member's certificates: %w", err)
	}
	if config.ServerName != "" && f.apiEndpoint == "" {
		return nil, fmt.Errorf("the member's kubeconfig expects a certificate for %q (tls-server-name), which the hub does not: give a name that is in the certificate by --api-endpoint, such as https://%s:6443",
			config.ServerName, config.ServerName)
	}
	return config, nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// writeValues writes what the agent's chart needs, and tells what to do with it. It holds no secret.
func writeValues(o *options, f joinFlags, report joined, address string, out io.Writer) error {
	raw, err := yaml.Marshal(map[string]any{
		"mode":  "agent",
		"agent": map[string]any{"clusterName": report.Cluster, "hubAddress": address, "joinSecretName": joinSecret},
	})
	if err != nil {
		return fmt.Errorf("write the agent's values: %w", err)
	}
	if report.Values == "-" {
		_, err := out.Write(raw)
		return err
	}
	if err := os.WriteFile(report.Values, raw, 0o644); err != nil { //nolint:gosec // no secret is in it.
		return fmt.Errorf("write the agent's values: %w", err)
	}
	if o.output == "json" {
		return printJSON(out, report)
	}
	_, err = fmt.Fprint(out, report.text(f.namespace))
	return err
}

// text tells people what was done and what comes next.
func (j joined) text(namespace string) string {
	if from := j.TakenFrom; from != "" {
		j.TakenFrom = ""
		return fmt.Sprintf("cluster %s was taken from the hub %s, which can write nothing there any more.\n", j.Cluster, from) + j.text(namespace)
	}
	if j.Registration == registrationNew {
		return fmt.Sprintf("cluster %s is registered. Install its agent in the member, before %s:\n\n  helm install %s charts/weir%s -n %s -f %s --set image.repository=REGISTRY/weir\n",
			j.Cluster, j.Expires, j.release, j.way, namespace, j.Values)
	}
	says := "its spec stays as it is"
	if len(j.Changed) > 0 {
		says = "in its spec changed " + strings.Join(j.Changed, ", ")
	}
	return fmt.Sprintf(`cluster %s was registered already: %s.
Its join token and the hub's credentials in it are new, and the older ones serve no more. An agent that runs takes the new token
when it dials next. If none runs there, install it before %s:

  helm upgrade --install %s charts/weir%s -n %s -f %s --set image.repository=REGISTRY/weir
`, j.Cluster, says, j.Expires, j.release, j.way, namespace, j.Values)
}
