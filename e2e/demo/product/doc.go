// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package product installs weir on a fleet as a user would, and speaks to it as
// a user does: with Helm, the chart of this repository, and kubectl weir.
//
// It promises to use nothing that a user has not: no rights beyond the chart's,
// no object made by hand besides namespaces, no value that values.yaml does not
// explain. What it reads of weir's state it reads from weir's own objects.
package product
