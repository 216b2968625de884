// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import "time"

// Reflex are the settings by which proxies leave a dead cluster on their own.
// They should stay constant over time: a proxy that gets other ones rebuilds the
// Envoy cluster and drops its connections.
type Reflex struct {
	// LocalOriginFailures is how many connections in a row an endpoint may
	// refuse, reset or time out before it is ejected.
	LocalOriginFailures int32
	// GatewayErrors is how many 502, 503 or 504 in a row eject an endpoint of
	// the config cluster's own cluster.
	GatewayErrors int32
	// Interval is the time between two looks at the endpoints.
	Interval time.Duration
	// BaseEjection is how long the first ejection lasts; later ones of the same
	// endpoint last a multiple.
	BaseEjection time.Duration
	// ConnectTimeout is how long a proxy tries to connect to an endpoint, the
	// TLS handshake included, before it counts as a failure and another is tried.
	ConnectTimeout time.Duration
	// IdleAcrossNetworks is how long a connection may carry no request before a
	// proxy closes it, where a Service has clusters in other networks. A gateway
	// there gives it to one pod, and no change of endpoints ever takes it away.
	IdleAcrossNetworks time.Duration
	// Attempts is the number of retries after the first try.
	Attempts int32
	// RetryOnWide and RetryOnSafe are Envoy's retry conditions for requests that
	// may run twice and for those that may not.
	RetryOnWide, RetryOnSafe []string
}

// Constants of the reflex that are not for setting, each with its reason.
const (
	// maxEjectionPercent lets a whole cluster be ejected, which is what a dead
	// cluster needs: Istio's default of 10 would keep nine tenths of it.
	maxEjectionPercent = 100

	// minHealthPercent fails open: when less than this share is left, Envoy uses
	// all endpoints again, where 0 would answer 503 though some might serve. It
	// also keeps not-ready endpoints out of the priorities, which Istio sends
	// since 1.31 where this is 0: spill-over would begin at about 71 % ready.
	minHealthPercent = 1

	// consecutive5xxErrors is 0, never: a 500 is the application's own answer,
	// and one broken path must not take an endpoint away from all others.
	consecutive5xxErrors = 0
)

// DefaultReflex returns the settings that were measured to lose nothing but what
// was already sent, when all pods of a cluster or its gateway are killed.
func DefaultReflex() Reflex {
	return Reflex{
		// One failure may be a connection that the peer just closed; two in a row
		// are a pattern. Both cost a retry each, so two attempts bear them.
		LocalOriginFailures: 2,
		// A sidecar whose application died answers 503 by itself until readiness
		// falls. Only where endpoints are pods: a gateway's 503 may be that of a
		// single pod behind it, and ejecting the gateway would cut the cluster.
		GatewayErrors: 3,
		// The shortest interval that Envoy's own sweep makes useful.
		Interval: time.Second,
		// Traffic is back this soon after a cluster is.
		BaseEjection: 5 * time.Second,
		// A cluster without power answers nothing, not even a refusal. By Envoy's own
		// ten seconds its callers would have given up before a retry could help.
		// It leaves room for two round trips around the earth on a busy machine.
		ConnectTimeout: 2 * time.Second,
		// Shorter than what is waited for until a pod counts as quiet that other
		// networks call, so that no connection leads to a quiet pod any more.
		IdleAcrossNetworks: 5 * time.Second,
		// The first retry leaves the host, the second the priority.
		Attempts: 2,
		// These never reached the application: nothing can run twice.
		RetryOnSafe: []string{"connect-failure", "refused-stream", "reset-before-request"},
		// Besides, these look lost but may have run. For GET, HEAD and OPTIONS,
		// which HTTP calls safe, that does no harm.
		RetryOnWide: []string{
			"connect-failure", "refused-stream", "reset-before-request",
			"gateway-error", "reset", "unavailable", "cancelled",
		},
	}
}

// withDefaults fills the zero fields.
func (r Reflex) withDefaults() Reflex {
	d := DefaultReflex()
	if r.LocalOriginFailures == 0 {
		r.LocalOriginFailures = d.LocalOriginFailures
	}
	if r.GatewayErrors == 0 {
		r.GatewayErrors = d.GatewayErrors
	}
	if r.Interval == 0 {
		r.Interval = d.Interval
	}
	if r.BaseEjection == 0 {
		r.BaseEjection = d.BaseEjection
	}
	if r.ConnectTimeout == 0 {
		r.ConnectTimeout = d.ConnectTimeout
	}
	if r.IdleAcrossNetworks == 0 {
		r.IdleAcrossNetworks = d.IdleAcrossNetworks
	}
	if r.Attempts == 0 {
		r.Attempts = d.Attempts
	}
	if len(r.RetryOnWide) == 0 {
		r.RetryOnWide = d.RetryOnWide
	}
	if len(r.RetryOnSafe) == 0 {
		r.RetryOnSafe = d.RetryOnSafe
	}
	return r
}
