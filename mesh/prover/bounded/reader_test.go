// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAnAnswerOverTheBoundFailsAndIsNeverCut(t *testing.T) {
	over := errors.New("over")
	broken := errors.New("broken")
	cases := map[string]struct {
		from io.Reader
		most int64
		read string
		err  error
	}{
		"shorter":             {strings.NewReader("abc"), 4, "abc", nil},
		"as long":             {strings.NewReader("abcd"), 4, "abcd", over},
		"longer":              {strings.NewReader("abcde"), 4, "abcd", over},
		"longer, by the byte": {iotest.OneByteReader(strings.NewReader("abcde")), 4, "abcd", over},
		"nothing is allowed":  {strings.NewReader("a"), 0, "", over},
		"broken before":       {io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)), 4, "ab", broken},
		"without an end":      {endless{}, 3, "xxx", over},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(New(c.from, c.most, over))
			if string(got) != c.read || !errors.Is(err, c.err) {
				t.Errorf("read %q, %v; want %q, %v", got, err, c.read, c.err)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
