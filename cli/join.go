// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/weir-io/weir/api/v1alpha1"
	"github.com/weir-io/weir/controllers/identity"
	"github.com/weir-io/weir/controllers/member"
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
}

// hubAccount is the ServiceAccount in a member by which the hub writes there. The agent's chart takes it over and
// binds its rights.
const hubAccount = "weir-hub"

// joinSecret is the Secret in the member from which the agent takes its join token and the hub's authority.
const joinSecret = "weir-join"

func newJoin(o *options) *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "join CLUSTER",
		Short: "Register a member and write the values for its agent",
		Long: `join registers a member on the hub: it makes an account for the hub in the member (with no rights yet: the agent's chart
binds them), keeps its credentials in a Secret on the hub, makes the Cluster object and a join token that serves once (in a
Secret of the member), and writes the values with which the agent's chart is then installed in the member.

It may be run again for the same member: it renews the credentials and makes a new token.`,
		Example: "  kubectl weir join c2 --member-context c2 --region west\n  helm install weir-agent charts/weir --kube-context c2 -n weir-system -f c2-values.yaml",
		Args:    exactly(1, "the name of the member"),
		RunE: func(cmd *cobra.Command, args []string) error {
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
	return cmd
}

// joined is what join reports.
type joined struct {
	Cluster string `json:"cluster"`
	Values  string `json:"values,omitempty"`
	Expires string `json:"tokenExpires"`
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
	h, err := o.hub()
	if err != nil {
		return err
	}
	config, err := load(first(f.kubeconfig, o.kubeconfig), f.context, "the member")
	if err != nil {
		return err
	}
	address, ca, err := identity.Published(ctx, h.kube, o.namespace)
	if err != nil {
		return err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("read the member's certificates: %w", err)
	}
	cluster := clusterOf(name, f, config)
	if err := h.refuseOther(ctx, cluster); err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to member %q: %w", name, err)
	}
	account, err := accountToken(ctx, kube, f)
	if err != nil {
		return fmt.Errorf("member %q: %w", name, err)
	}
	if err := h.keep(ctx, o.namespace, cluster, account); err != nil {
		return err
	}
	text, record, err := stream.NewToken(name, time.Now().Add(f.tokenTTL))
	if err != nil {
		return err
	}
	if err := h.Create(ctx, identity.TokenSecret(o.namespace, record)); err != nil {
		return fmt.Errorf("store the join token: %w", err)
	}
	if err := handOver(ctx, kube, f.namespace, text, ca); err != nil {
		return fmt.Errorf("member %q: %w", name, err)
	}
	return writeValues(o, f, name, address, record, out)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func clusterOf(name string, f joinFlags, config *rest.Config) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{
			APIEndpoint: first(f.apiEndpoint, config.Host), CABundle: config.CAData, Region: f.region, Zone: f.zone,
			IstioClusterID: f.istioID, CredentialsSecretRef: &v1alpha1.SecretReference{Name: credentialsSecret(name)},
		},
	}
}

func credentialsSecret(cluster string) string { return "weir-member-" + cluster }

// refuseOther keeps a second cluster from taking a name.
func (h *hub) refuseOther(ctx context.Context, want *v1alpha1.Cluster) error {
	if err := v1alpha1.ValidateCABundle(want.Spec.CABundle); err != nil {
		return fmt.Errorf("the member's kubeconfig: %w", err)
	}
	var have v1alpha1.Cluster
	err := h.Get(ctx, types.NamespacedName{Name: want.Name}, &have)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read cluster %q: %w", want.Name, err)
	}
	if !bytes.Equal(bytes.TrimSpace(have.Spec.CABundle), bytes.TrimSpace(want.Spec.CABundle)) {
		return fmt.Errorf("cluster %q is registered already with another CA (%s): give this one another name, or delete the Cluster object first",
			want.Name, have.Spec.APIEndpoint)
	}
	return nil
}

// accountToken makes the hub's account in the member and returns its token. The account is marked as part of the
// agent's release, so that Helm takes it over.
func accountToken(ctx context.Context, kube kubernetes.Interface, f joinFlags) ([]byte, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make namespace %s: %w", f.namespace, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name:   hubAccount,
		Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations: map[string]string{
			"meta.helm.sh/release-name": f.release, "meta.helm.sh/release-namespace": f.namespace,
		},
	}}
	if _, err := kube.CoreV1().ServiceAccounts(f.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make ServiceAccount %s/%s: %w", f.namespace, hubAccount, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: hubAccount + "-token", Labels: map[string]string{member.LabelManaged: member.LabelManagedValue},
			Annotations: map[string]string{corev1.ServiceAccountNameKey: hubAccount},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if _, err := kube.CoreV1().Secrets(f.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make Secret %s/%s: %w", f.namespace, secret.Name, err)
	}
	return waitToken(ctx, kube, f.namespace, secret.Name)
}

// handOver puts the join token and the hub's authority where the agent looks for them.
func handOver(ctx context.Context, kube kubernetes.Interface, namespace, token string, ca []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: joinSecret, Labels: map[string]string{member.LabelManaged: member.LabelManagedValue}},
		Data:       map[string][]byte{"token": []byte(token), "ca.crt": ca},
	}
	_, err := kube.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = kube.CoreV1().Secrets(namespace).Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", namespace, joinSecret, err)
	}
	return nil
}

// waitToken waits until the member's controller has filled the Secret.
func waitToken(ctx context.Context, kube kubernetes.Interface, namespace, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && len(s.Data[corev1.ServiceAccountTokenKey]) > 0 {
			return s.Data[corev1.ServiceAccountTokenKey], nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("secret %s/%s got no token within 30s: is the member's controller-manager running?", namespace, name)
		case <-tick.C:
		}
	}
}

// keep stores the member's credentials, then its Cluster.
func (h *hub) keep(ctx context.Context, namespace string, cluster *v1alpha1.Cluster, token []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster.Name] = &clientcmdapi.Cluster{Server: cluster.Spec.APIEndpoint, CertificateAuthorityData: cluster.Spec.CABundle}
	config.AuthInfos[cluster.Name] = &clientcmdapi.AuthInfo{Token: string(token)}
	config.Contexts[cluster.Name] = &clientcmdapi.Context{Cluster: cluster.Name, AuthInfo: cluster.Name}
	config.CurrentContext = cluster.Name
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the member's kubeconfig: %w", err)
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster.Spec.CredentialsSecretRef.Name},
		Data:       map[string][]byte{member.KubeconfigKey: raw},
	}
	if err := h.put(ctx, secret); err != nil {
		return fmt.Errorf("store the credentials of cluster %q: %w", cluster.Name, err)
	}
	var have v1alpha1.Cluster
	err = h.Get(ctx, client.ObjectKeyFromObject(cluster), &have)
	if apierrors.IsNotFound(err) {
		err = h.Create(ctx, cluster)
	}
	if err != nil {
		return fmt.Errorf("register cluster %q: %w", cluster.Name, err)
	}
	return nil
}

// put makes a Secret, or replaces what is in it.
func (h *hub) put(ctx context.Context, secret *corev1.Secret) error {
	err := h.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var have corev1.Secret
	if err := h.Get(ctx, client.ObjectKeyFromObject(secret), &have); err != nil {
		return err
	}
	before := have.DeepCopy()
	have.Data = secret.Data
	return h.Patch(ctx, &have, client.MergeFrom(before))
}

// writeValues writes what the agent's chart needs. It holds no secret.
func writeValues(o *options, f joinFlags, name, address string, record stream.Token, out io.Writer) error {
	raw, err := yaml.Marshal(map[string]any{
		"mode":  "agent",
		"agent": map[string]any{"clusterName": name, "hubAddress": address, "joinSecretName": joinSecret},
	})
	if err != nil {
		return fmt.Errorf("write the agent's values: %w", err)
	}
	report := joined{Cluster: name, Values: first(f.values, name+"-values.yaml"), Expires: record.Expires.UTC().Format(time.RFC3339)}
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
	_, err = fmt.Fprintf(out, "cluster %s is registered. Install its agent in the member, before %s:\n\n  helm install %s charts/weir -n %s -f %s\n",
		name, report.Expires, f.release, f.namespace, report.Values)
	return err
}
