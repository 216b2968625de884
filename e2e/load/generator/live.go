// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/journal"
)

// Live is the state of a run, written each second for whoever watches.
type Live struct {
	Client string `json:"client"`
	Time   int64  `json:"time"`
	// Counts are those since the start. Requests that have no fate yet are in
	// Sent and in InFlight, and neither in OK nor in Lost.
	load.Counts
	InFlight int `json:"inFlight"`
	// LastSecond is what happened since the last time this was written.
	LastSecond Second `json:"lastSecond"`
}

// show writes the live file each second, and once more when ctx ends.
func (r *run) show(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return r.writeLive()
		case <-tick.C:
			if err := r.writeLive(); err != nil {
				return err
			}
		}
	}
}

func (r *run) writeLive() error {
	second, total, inFlight := r.tally.turn()
	content, err := json.Marshal(Live{
		Client: r.config.Client, Time: time.Now().UnixNano(),
		Counts: total, InFlight: inFlight, LastSecond: second,
	})
	if err != nil {
		return fmt.Errorf("live numbers: %w", err)
	}
	if err := journal.Replace(filepath.Join(r.config.Out, LiveFile), append(content, '\n')); err != nil {
		return fmt.Errorf("live numbers: %w", err)
	}
	return nil
}
