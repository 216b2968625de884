// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// oldestProven is the oldest Istio whose pushes can be told apart well enough to prove anything.
const oldestProven = "1.30"

// shortVersion takes the version out of what istiod says of itself, version-revision-state: "1.31.0-3fa52b-Clean" is
// "1.31.0", and a release candidate stays one.
func shortVersion(build string) string {
	build = strings.TrimSpace(build)
	parts := strings.Split(build, "-")
	if len(parts) < 3 {
		return build
	}
	return strings.Join(parts[:len(parts)-2], "-")
}

// imageVersion reads a version from an image's tag; empty where the tag is none.
func imageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	tag := image[strings.LastIndex(image, ":")+1:]
	return versionTag.FindString(tag)
}

var versionTag = regexp.MustCompile(`^1\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?`)

// compareVersions orders versions by their numbers, as far as both have them; what is no number counts as 0.
func compareVersions(a, b string) int {
	x, y := numbers(a), numbers(b)
	for i := range min(len(x), len(y)) {
		if c := cmp.Compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return 0
}

func numbers(v string) []int {
	v, _, _ = strings.Cut(v, "-")
	var out []int
	for f := range strings.SplitSeq(v, ".") {
		n, _ := strconv.Atoi(f)
		out = append(out, n)
	}
	return out
}
