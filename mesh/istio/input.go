// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

// Input is all that Render and Cost look at: one Service, as it is to be
// steered by the clients that read their rules from one config cluster.
type Input struct {
	Service Service

	// ConfigCluster is the name of the cluster the rules are written to. It is
	// one of Clusters where that cluster places or exports the Service, and may
	// be another where it only has clients or a gateway.
	ConfigCluster string
	// ConfigNetwork is the network of the config cluster's proxies; empty where
	// all clusters share one network.
	ConfigNetwork string

	// Clusters are those that place or export the Service, in any order. Only
	// they get a subset.
	Clusters []Cluster
	// Gateways are the east-west gateways that lead to other networks.
	Gateways []Gateway

	// Generation is the shift's; it stands in the route names. At least 1.
	Generation int64

	// Steering, Retries and Subsets may be empty, which means Always, Auto and
	// Preference.
	Steering Steering
	Retries  Retries
	Subsets  SubsetMode
	// Reflex are the ejection and retry settings; zero fields take the values
	// of DefaultReflex.
	Reflex Reflex

	// ClientNamespaces are the namespaces that call the Service; empty means all.
	// Rules reach these, the Service's own, the gateways' and the system one.
	ClientNamespaces []string
	// SystemNamespace is istiod's; empty means DefaultSystemNamespace.
	SystemNamespace string
	// RootNamespace is the mesh's root of configuration; empty means the system
	// namespace. Only Foreign reads it.
	RootNamespace string
	// Domain is the domain of Services; empty means DefaultDomain.
	Domain string
	// ClusterSetHost asks for rules for the clusterset.local name as well. To be
	// set only where istiod serves that name, since it doubles the cost.
	ClusterSetHost bool
}

// Service is what is steered.
type Service struct {
	Namespace, Name string
	// Ports in any order.
	Ports []Port
	// TrafficDistribution is the Service's own field. Rules with a load
	// balancer setting take its place, which Render then says.
	TrafficDistribution string
}

// Port is one port of a Service.
type Port struct {
	// Name is the port's name; by its prefix Istio learns the protocol.
	Name string
	// Number is the Service's port, not the pods'.
	Number int32
	// Protocol is TCP, UDP or SCTP; empty is TCP.
	Protocol string
	// AppProtocol goes before the name; empty is unset.
	AppProtocol string
}

// Cluster is one cluster that places or exports the Service.
type Cluster struct {
	// Name is weir's name of the cluster, which its subset carries.
	Name string
	// IstioID is istiod's name of it; empty means the same as Name.
	IstioID string
	// Network is the Istio network of its pods; empty where all share one.
	Network string
	// Permille is its share of the traffic, of 1000 over all clusters.
	Permille int32
	// Endpoints is the number of ready endpoints there. Only Cost reads it.
	Endpoints int32
}

// Gateway is an east-west gateway as istiod knows it.
type Gateway struct {
	// Cluster is weir's name of the gateway's cluster. Empty where the gateway
	// is given by its address in meshNetworks: istiod then knows no cluster.
	Cluster string
	// Network is the one it leads to.
	Network string
	// Namespace is where its pods run; empty means the system namespace.
	Namespace string
	// Addresses is the number of its addresses; 0 counts as 1.
	Addresses int32
}

// Steering says whether weights stand between shifts.
type Steering string

const (
	// Always keeps subsets and weights at all times.
	Always Steering = "Always"
	// OnDemand keeps one DestinationRule with ejection alone. Traffic follows
	// the endpoints, and only the fence moves it.
	OnDemand Steering = "OnDemand"
)

// Retries says what a proxy may send a second time.
type Retries string

const (
	// Auto retries GET, HEAD and OPTIONS when they look lost, and all else only
	// where it never reached the application.
	Auto Retries = "Auto"
	// Idempotent retries all requests, gRPC too, as Auto retries a GET. The user
	// says by it that no request does harm when it runs twice.
	Idempotent Retries = "Idempotent"
	// Safe retries no request that might have reached the application.
	Safe Retries = "Safe"
)

// SubsetMode says what a cluster's subset selects.
type SubsetMode string

const (
	// Preference subsets select all endpoints and prefer their cluster's: when
	// it is empty or ejected, traffic goes elsewhere with no rule written.
	Preference SubsetMode = "Preference"
	// HardSubset selects the cluster's endpoints alone. It is the fallback where
	// preference cannot work, and gives TCP ports weights; a cluster that dies
	// keeps its share of errors until its weight is moved.
	HardSubset SubsetMode = "HardSubset"
)
