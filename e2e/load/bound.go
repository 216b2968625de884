// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import "fmt"

// Bound says in words what a count of losses proves about the rate behind it.
// None lost of n does not prove that none is ever lost: by the rule of three
// the true rate is below 3/n, with 95 % confidence. When some were lost, their
// share is what there is to say.
func Bound(lost, n int) string {
	switch {
	case n <= 0:
		return "no requests were sent: nothing is proven"
	case lost == 0:
		return fmt.Sprintf("with 95 %% confidence fewer than 3/%d = %.2g of all requests are lost", n, 3/float64(n))
	default:
		return fmt.Sprintf("%.2g of all requests were lost", float64(lost)/float64(n))
	}
}

// Verdict is the last line of a run. Programs read it, so its form is fixed.
func Verdict(lost, n int) string { return fmt.Sprintf("lost %d of %d requests", lost, n) }
