// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"io"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/weir-io/weir/mesh/prover/bounded"
)

// maxAnswer is how long one answer of a member's API server may be, in bytes. What weir reads there are single objects,
// of which an API server stores none that is longer than half of this.
const maxAnswer = 4 << 20

var errTooLong = errors.New("the answer is longer than any object: is spec.apiEndpoint that of an API server?")

// clientOf returns what sends requests to a member. The member may be hostile: an answer that has no end is cut off, and
// one that points elsewhere is an error, since it would make the hub a way into places that the member does not reach.
func clientOf(config *rest.Config) (*http.Client, error) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return briefly{next} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, nil
}

// briefly cuts answers off at maxAnswer, after they were decompressed.
type briefly struct{ next http.RoundTripper }

// RoundTrip sends the request on.
func (b briefly) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = cut{bounded.New(response.Body, maxAnswer, errTooLong), response.Body}
	return response, nil
}

// WrappedRoundTripper is how client-go finds the transport behind, to cancel a request.
func (b briefly) WrappedRoundTripper() http.RoundTripper { return b.next }

// cut reads what was bounded, and closes the whole.
type cut struct {
	io.Reader
	io.Closer
}
