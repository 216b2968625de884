// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// uuidLength is the length of a UUID in its usual form, the tail of a nonce.
const uuidLength = 36

// maxLength bounds what is read as a version or nonce. istiod's are about 65
// characters long.
const maxLength = 256

// ErrMalformed means that a string is no version or nonce of istiod's.
var ErrMalformed = errors.New("not a push version of istiod")

// Version is one push of one istiod process. The zero Version is no push.
type Version struct {
	// At is the time of the push by istiod's clock, in whole seconds.
	At time.Time
	// Counter grows with each push; the first push of a process has 1.
	Counter uint64
}

// IsZero tells whether v is no push.
func (v Version) IsZero() bool { return v.Counter == 0 }

// Reaches tells whether v is w or a later push. It holds only where both are
// from one process. No push reaches nothing.
func (v Version) Reaches(w Version) bool {
	return v.Counter != 0 && v.Counter >= w.Counter
}

// String writes v as istiod does; the zero Version is the empty string.
func (v Version) String() string {
	if v.IsZero() {
		return ""
	}
	return v.At.Format(time.RFC3339) + "/" + strconv.FormatUint(v.Counter, 10)
}

// Nonce identifies one answer on one stream.
type Nonce struct {
	Version Version
	// ID is the answer's UUID.
	ID string
}

// IsZero tells whether n is no answer.
func (n Nonce) IsZero() bool { return n.ID == "" }

// String writes n as istiod does.
func (n Nonce) String() string { return n.Version.String() + n.ID }

// ParseVersion reads what istiod writes into version_info.
func ParseVersion(s string) (Version, error) {
	if len(s) > maxLength {
		return Version{}, fmt.Errorf("%w: %d characters", ErrMalformed, len(s))
	}
	stamp, count, found := strings.Cut(s, "/")
	if !found {
		return Version{}, fmt.Errorf("%w: %q has no counter", ErrMalformed, s)
	}
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return Version{}, fmt.Errorf("%w: %q has no time", ErrMalformed, s)
	}
	counter, err := strconv.ParseUint(count, 10, 64)
	if err != nil || counter == 0 || strconv.FormatUint(counter, 10) != count {
		return Version{}, fmt.Errorf("%w: %q has no counter", ErrMalformed, s)
	}
	return Version{At: at, Counter: counter}, nil
}

// ParseNonce reads a nonce. The empty string is the zero Nonce: nothing was
// sent or acknowledged yet.
func ParseNonce(s string) (Nonce, error) {
	if s == "" {
		return Nonce{}, nil
	}
	if len(s) > maxLength || len(s) <= uuidLength {
		return Nonce{}, fmt.Errorf("%w: a nonce of %d characters", ErrMalformed, len(s))
	}
	head, id := s[:len(s)-uuidLength], s[len(s)-uuidLength:]
	if !isUUID(id) {
		return Nonce{}, fmt.Errorf("%w: nonce %q does not end in a UUID", ErrMalformed, s)
	}
	version, err := ParseVersion(head)
	if err != nil {
		return Nonce{}, err
	}
	return Nonce{Version: version, ID: id}, nil
}

// isUUID tells whether s, of 36 bytes, is a UUID in its usual form. The check
// matters because the counter before it has no end mark: a digit taken for one
// more of the counter's would make a version that is far too new.
func isUUID(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}
