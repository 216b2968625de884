// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// startAll starts weir first, and CoreDNS in three forms. It returns those that run, also with an error.
func startAll(ctx context.Context, o options, dir string) ([]*process, error) {
	if err := writeNames(dir, o.names); err != nil {
		return nil, err
	}
	var out []*process
	add := func(title, program string, args func(address, other string) ([]string, error)) error {
		address, err := freeAddress(ctx)
		if err != nil {
			return err
		}
		other, err := freeAddress(ctx)
		if err != nil {
			return err
		}
		all, err := args(address, other)
		if err != nil {
			return err
		}
		p, err := start(ctx, title, address, program, all...)
		if err != nil {
			return err
		}
		out = append(out, p)
		return nil
	}
	err := add("weir dns", o.weir, func(address, other string) ([]string, error) {
		return []string{"dns", "--table", filepath.Join(dir, "table.yaml"), "--listen", address, "--metrics-address", other, "--health-address", "127.0.0.1:0", "--lame-duck", "0s"}, nil
	})
	for _, form := range []struct{ title, plugins string }{
		{"CoreDNS file", "file " + filepath.Join(dir, "zone") + " " + origin},
		{"CoreDNS errors prometheus cache file", "errors\n prometheus METRICS\n cache 30\n file " + filepath.Join(dir, "zone") + " " + origin},
		{"CoreDNS hosts", "hosts " + filepath.Join(dir, "hosts")},
	} {
		if err != nil {
			break
		}
		err = add(form.title, o.coredns, func(address, other string) ([]string, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(dir, strings.ReplaceAll(form.title, " ", "-"))
			text := fmt.Sprintf("%s:%s {\n bind %s\n %s\n}\n", origin, port, host, strings.ReplaceAll(form.plugins, "METRICS", other))
			return []string{"-quiet", "-conf", path}, os.WriteFile(path, []byte(text), 0o600)
		})
	}
	return out, err
}

// writeNames writes the same names in three forms. In weir's, each is of two clusters, one of which is drawn for each
// answer.
func writeNames(dir string, names int) error {
	var table, zone, hosts strings.Builder
	table.WriteString("global:\n  origin: " + origin + "\n  clusters:\n  - {name: c1, addresses: [192.0.2.1]}\n  - {name: c2, addresses: [192.0.2.2]}\n  services:\n")
	fmt.Fprintf(&zone, "$ORIGIN %s\n@ 3600 IN SOA ns hostmaster 1 7200 1800 86400 5\n@ 3600 IN NS ns\n3600 IN A 192.0.2.53\n", origin)
	for n := range names {
		fmt.Fprintf(&table, "  - {namespace: demo, name: s%d, clusters: [{name: c1, weight: 500}, {name: c2, weight: 500}]}\n", n)
		fmt.Fprintf(&zone, "s%d.demo 5 IN A 192.0.2.1\n", n)
		fmt.Fprintf(&hosts, "192.0.2.1 %s\n", strings.TrimSuffix(nameOf(n), "."))
	}
	for file, text := range map[string]string{"table.yaml": table.String(), "zone": zone.String(), "hosts": hosts.String()} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the names: %w", err)
		}
	}
	return nil
}
