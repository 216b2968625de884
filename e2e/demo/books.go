// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/generator"
)

// place is where one client keeps its files on this machine.
type place struct {
	Client string
	// Cluster is where the client runs, or through whose gateway it enters.
	Cluster string
	Outside bool
	// Global marks the one that enters by the services' global names, wherever
	// they lead: it has no cluster.
	Global  bool
	Out     string
	Control string
}

// readRuns reads the records of all clients. A client that left no file is an
// error: its requests would be missing from the account.
func readRuns(places []place) ([]load.Run, error) {
	var runs []load.Run
	for _, p := range places {
		run := load.Run{Client: p.Client, Outside: p.Outside}
		err := eachFile(p.Out, generator.RecordsExt, func(content []byte) error {
			records, err := load.ParseRecords(content)
			run.Records = append(run.Records, records...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("client %s: %w", p.Client, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// readLedgers reads the ledgers of all pods that ever wrote to the directories.
func readLedgers(dirs []string) ([]load.Ledger, error) {
	var ledgers []load.Ledger
	for _, dir := range dirs {
		err := eachFile(dir, "ledger", func(content []byte) error {
			l, err := load.ParseLedger(content)
			ledgers = append(ledgers, l)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ledgers: %w", err)
		}
	}
	return ledgers, nil
}

// eachFile calls parse for each file in dir with the extension, in order of
// names. A last line that a sudden end has torn is no error; no file is one.
func eachFile(dir, ext string, parse func([]byte) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*."+ext))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no %s in %s", ext, dir)
	}
	slices.Sort(paths)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := parse(content); err != nil && !errors.Is(err, load.ErrTorn) {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return nil
}
