// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// longestText is how much of a sentence from a status is shown: weir's own are shorter.
const longestText = 1024

// plain makes of a text that somebody else may have written one that a terminal shows as it is: nothing in it moves the
// cursor, ends the line or turns the direction of writing, and it is no longer than limit characters.
func plain(text string, limit int) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == ' ' || unicode.IsPrint(r) && !unicode.Is(unicode.Cf, r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	if out := b.String(); utf8.RuneCountInString(out) > limit {
		return string([]rune(out)[:limit-1]) + "…"
	}
	return b.String()
}

func plainAll(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, t := range texts {
		out = append(out, plain(t, longestText))
	}
	return out
}

// table writes rows of cells, in columns.
type table struct{ *tabwriter.Writer }

func newTable(out io.Writer) *table {
	return &table{tabwriter.NewWriter(out, 2, 2, 2, ' ', 0)}
}

func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	_, _ = fmt.Fprintln(t, strings.Join(texts, "\t"))
}

// ago is how long before now something was, in whole seconds. A clock that is ahead of this one's says no less than 0.
func ago(then, now time.Time) time.Duration {
	return max(now.Sub(then).Round(time.Second), 0)
}

// many is a number of things in words: "1 pod", "2 pods".
func many[N ~int | ~int32 | ~int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// orDash is a text, or a dash where there is none.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
