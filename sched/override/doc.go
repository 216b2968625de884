// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package override changes one member's copy of a template: it sets fields by JSON pointer (RFC 6901).
//
// [Apply] works on objects as JSON decodes them and never changes the one it is given. Fields on the way that are missing
// are made, an element of a list has to be there, and a change that cannot be made is an error that names the user's
// field. Whoever writes the copy and whoever counts what it needs use the same function, so that both mean the same copy.
package override
