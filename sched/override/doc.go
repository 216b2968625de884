// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package override changes one member's copy of a template: it sets fields by JSON pointer (RFC 6901).
//
// [Apply] works on objects as JSON decodes them and never changes the one it is given. Fields on the way that are missing
// are made, an element of a list has to be there, and a change that cannot be made is an error that names the user's
// field. Whoever writes the copy and whoever counts what it needs use the same function, so that both mean the same copy.
//
// [Deployment] and [Service] hold what comes of it to its kind, as strictly as the template itself is held: a field that the
// kind does not have, in the version of Kubernetes that weir was built with, and a value of another type are errors of the
// override. What is new in a member's Kubernetes is among that until weir is built with it. That is wanted: nobody could
// tell it from a misspelt name before a member refuses it, and the scheduler would place pods by fields that it cannot read.
package override
