// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/weir-io/weir/dns/zone"
)

// Formats that Print writes.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// printed is the JSON form of a table: what is answered, after defaults.
type printed struct {
	Serial uint32        `json:"serial"`
	Zones  []printedZone `json:"zones"`
	Names  []zone.Entry  `json:"names"`
}

type printedZone struct {
	Origin      string     `json:"origin"`
	State       zone.State `json:"state"`
	NameServers []string   `json:"nameServers"`
}

// Print writes what is answered from the table, as text for people or as JSON.
func (l Loaded) Print(w io.Writer, format string) error {
	out := printed{Serial: l.Table.Serial(), Zones: []printedZone{}, Names: []zone.Entry{}}
	for _, z := range l.Table.Zones() {
		one := printedZone{Origin: strings.TrimSuffix(z.Origin, "."), State: z.State}
		for _, ns := range z.NameServers {
			one.NameServers = append(one.NameServers, strings.TrimSuffix(ns, "."))
		}
		out.Zones = append(out.Zones, one)
	}
	out.Names = append(out.Names, l.Table.Entries()...)
	switch format {
	case FormatJSON:
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(out); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
		return nil
	case FormatText:
		return out.text(w)
	}
	return fmt.Errorf("there is no format %q: give %s or %s", format, FormatText, FormatJSON)
}

func (p printed) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "serial %d\n\nZONE\tSTATE\tNAME SERVERS\n", p.Serial)
	for _, z := range p.Zones {
		fmt.Fprintf(t, "%s\t%s\t%s\n", z.Origin, z.State, strings.Join(z.NameServers, " "))
	}
	fmt.Fprint(t, "\nNAME\tTTL\tCLUSTER\tWEIGHT\tADDRESSES\n")
	for _, e := range p.Names {
		cluster, weight := "-", "-"
		if e.Cluster != "" {
			cluster, weight = e.Cluster, strconv.FormatUint(e.Weight, 10)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", e.Name, e.TTL, cluster, weight, addressesOf(e.Addresses))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

func addressesOf(all []netip.Addr) string {
	if len(all) == 0 {
		return "none"
	}
	out := make([]string, 0, len(all))
	for _, a := range all {
		out = append(out, a.String())
	}
	return strings.Join(out, " ")
}
