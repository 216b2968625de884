// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package shift

// leavesScaler reports whether the step leaves alone what an autoscaler sets: only a drain takes
// it away, nothing raises it, and where somebody else keeps the limits nothing does either.
func (o *oracle) leavesScaler(b, a *Cluster) bool {
	if o.b.Replicas != Owned || a.Applied == b.Applied {
		return true
	}
	switch b.Scaler {
	case Unscaled:
	case Operated:
		return false
	case Autoscaled:
		return b.Applied == 0 || a.Applied < b.Applied && b.Goal == Drain
	case Lowered:
		return a.Applied > b.Applied || o.goes(b)
	}
	return true
}

// keptByScaler reports whether an autoscaler's number, and not the end, is what the cluster has.
func (o *oracle) keptByScaler(c *Cluster) bool {
	return o.b.Replicas == Owned && (c.Scaler == Autoscaled && c.Applied > 0 || c.Scaler == Operated)
}
