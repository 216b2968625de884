// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-io/weir/api/v1alpha1"
)

// Exit codes besides 0 and 1.
const (
	// ExitUsage: the command line is wrong.
	ExitUsage = 2
	// ExitWaiting: the time given by --timeout passed; weir goes on.
	ExitWaiting = 3
	// ExitFindings: check found something that stops weir.
	ExitFindings = 4
)

// ExitError is an error with the exit code that goes with it.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode is the code with which the process ends after err.
func ExitCode(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	}
	return 1
}

// fieldManager owns what people write by kubectl weir.
const fieldManager = "kubectl-weir"

// options are the flags of every command.
type options struct {
	kubeconfig string
	context    string
	namespace  string
	output     string
}

// New returns the command with all its verbs.
func New() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "kubectl-weir",
		Short: "Move traffic between clusters, and see where it is",
		Long: `kubectl weir moves traffic between clusters without losing a request, and says where it is, why, and what weir waits for.

It talks to the hub: the cluster that --context (or the current context) names.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl weir"},
	}
	f := root.PersistentFlags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the hub; default: KUBECONFIG, then ~/.kube/config")
	f.StringVar(&o.context, "context", "", "context of the hub in the kubeconfig; default: the current one")
	f.StringVarP(&o.namespace, "namespace", "n", "weir-system", "namespace of weir on the hub")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if o.output != "text" && o.output != "json" {
			return &ExitError{ExitUsage, fmt.Errorf("--output %q: want text or json", o.output)}
		}
		return nil
	}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return &ExitError{ExitUsage, fmt.Errorf("there is no verb %q; see %s --help", args[0], cmd.CommandPath())}
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &ExitError{ExitUsage, err} })
	root.AddCommand(newJoin(o), newDrain(o), newUndrain(o), newStatus(o), newCheck(o), newExplain(o), newTop(o), newUnjoin(o))
	return root
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return &ExitError{ExitUsage, fmt.Errorf("%s takes %s; see %s --help", cmd.Name(), what, cmd.CommandPath())}
		}
		return nil
	}
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &ExitError{ExitUsage, fmt.Errorf("%s takes %s at most; see %s --help", cmd.Name(), what, cmd.CommandPath())}
		}
		return nil
	}
}

// notNegative refuses times below 0.
func notNegative(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if d, err := cmd.Flags().GetDuration(name); err == nil && d < 0 {
			return &ExitError{ExitUsage, fmt.Errorf("--%s %s: give a time of 0 or more", name, d)}
		}
	}
	return nil
}

func (o *options) config() (*rest.Config, error) {
	return load(o.kubeconfig, o.context, "the hub")
}

// load reads one context of a kubeconfig.
func load(path, context, whose string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", whose, err)
	}
	config.UserAgent = fieldManager
	return config, nil
}

// hub is the connection to the hub.
type hub struct {
	client.Client
	kube kubernetes.Interface
}

func (o *options) hub() (*hub, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme, FieldOwner: fieldManager})
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	return &hub{c, kube}, nil
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
