// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"unicode/utf8"
)

// Clip cuts a text to limit characters at most, the last of which then says that there was more. What a member says of
// itself may be longer than a status holds, and a status that is too long is refused as a whole.
func Clip(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// ClipAll clips each of texts.
func ClipAll(texts []string, limit int) []string {
	out := make([]string, 0, len(texts))
	for _, t := range texts {
		out = append(out, Clip(t, limit))
	}
	return out
}

// Count is a number of things in words: "1 pod", "2 pods". One is the name of a single thing whose plural ends in s.
func Count[N ~int | ~int32 | ~int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
