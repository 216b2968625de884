// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// Bounds of what a table takes.
const (
	// MaxName is the length of a name, with the dot at its end.
	MaxName = 254
	// MaxAddresses of one service or cluster.
	MaxAddresses = 64
	// MaxNameServers of one zone.
	MaxNameServers = 13
	// MaxWeight of one cluster.
	MaxWeight = 1_000_000

	maxLabel = 63
)

// label is a DNS label as hosts have them, RFC 1123.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

var errMissing = errors.New("is missing")

// CheckService says what is wrong with the names of a service; nil when both are DNS labels.
func CheckService(namespace, name string) error {
	if err := checkLabel(namespace); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	if err := checkLabel(name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	return nil
}

// CheckCluster says what is wrong with the name of a Cluster; nil when it can be one.
func CheckCluster(name string) error {
	host, err := checkHost(name)
	if err == nil && host != name+"." {
		err = fmt.Errorf("%q is no name that a Cluster can have: give lower-case letters, and no dot at the end", name)
	}
	return err
}

// CheckOrigin returns the origin of a global zone, in lower case with a dot at its end, or what is wrong with it.
func CheckOrigin(name string) (string, error) {
	origin, err := checkHost(name)
	if err == nil && (within(origin, ClusterSetOrigin) || within(ClusterSetOrigin, origin)) {
		err = fmt.Errorf("%q overlaps with clusterset.local, which is a zone of its own: give another", name)
	}
	return origin, err
}

// CheckHostname returns a name of the zone, in lower case with a dot at its end, or what is wrong with it.
func CheckHostname(origin, name string) (string, error) {
	host, err := checkHost(name)
	if err == nil && !within(host, origin) {
		err = fmt.Errorf("%q is not in the zone %s: give a name that ends so", name, strings.TrimSuffix(origin, "."))
	}
	return host, err
}

// CheckNameServer says what is wrong with a name server of the zone; nil when it can be one.
func CheckNameServer(origin string, s NameServer) error {
	name, err := checkHost(s.Name)
	switch {
	case err != nil:
		return err
	case name == origin:
		return fmt.Errorf("%q is the zone itself: give its name server a name of its own", s.Name)
	case !within(name, origin) && len(s.Addresses) > 0:
		return fmt.Errorf("%q is not in the zone %s, so its addresses are told elsewhere: leave them out", s.Name, strings.TrimSuffix(origin, "."))
	}
	var found fieldErrors
	found.checkAddresses("addresses", s.Addresses)
	if len(found) > 0 {
		return found[0]
	}
	return nil
}

// CheckAddress says why clients elsewhere can not use an address; nil when they can.
func CheckAddress(a netip.Addr) error {
	switch {
	case !a.IsValid():
		return errors.New("is no address: give one such as 192.0.2.1 or 2001:db8::1")
	case a.Is4In6() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast():
		return fmt.Errorf("%s can not be sent to by clients elsewhere: give a plain unicast address", a)
	}
	return nil
}

func checkLabel(s string) error {
	switch {
	case s == "":
		return errMissing
	case len(s) > maxLabel || !label.MatchString(s):
		return fmt.Errorf("%q is no DNS label: give at most %d lower-case letters, digits and inner hyphens", s, maxLabel)
	}
	return nil
}

// checkHost returns a host name in lower case with a dot at its end.
func checkHost(s string) (string, error) {
	if s == "" {
		return "", errMissing
	}
	name := strings.Map(lower, strings.TrimSuffix(s, ".")) + "."
	if len(name) > MaxName {
		return "", fmt.Errorf("%q has %d characters: %d are the most", s, len(name)-1, MaxName-1)
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if len(part) > maxLabel || !label.MatchString(part) {
			return "", fmt.Errorf("%q is no host name: %q is no DNS label of at most %d letters, digits and inner hyphens", s, part, maxLabel)
		}
	}
	return name, nil
}

// lower is the lower case of a letter of ASCII. Of others it is not: K, the sign of kelvin, would become a k.
func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
