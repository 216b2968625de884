// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/weir-io/weir/e2e/load"
	"github.com/weir-io/weir/e2e/load/journal"
)

// Extensions of the files of a run, in its output directory. Each is named
// after the client and the time it started.
const (
	RecordsExt = "records"
	ReportExt  = "report.json"
	LiveFile   = "live.json"
)

// Run sends until the duration is over, a stop file appears, or ctx ends; then
// it waits for what is in flight, at most the timeout, writes the report and
// returns it. The error tells of a run that could not be recorded as it should;
// lost requests are no error.
func Run(ctx context.Context, config Config) (load.Report, error) {
	c, err := config.complete()
	if err != nil {
		return load.Report{}, err
	}
	senders := make([]*sender, 0, len(c.Targets))
	for _, t := range c.Targets {
		base, err := t.base()
		if err != nil {
			return load.Report{}, err
		}
		senders = append(senders, newSender(c, t, base))
	}
	schedule, err := load.NewSchedule(c.Seed, c.Rate, c.Mix)
	if err != nil {
		return load.Report{}, err
	}
	if c.Control != "" {
		if err := awaitStart(ctx, c.Control); err != nil {
			return load.Report{}, fmt.Errorf("waiting for the file %q in %s: %w", startFile, c.Control, err)
		}
	}
	started := time.Now()
	file, err := journal.Create(c.Out, c.Client, RecordsExt, started)
	if err != nil {
		return load.Report{}, err
	}
	r := &run{
		config: c, schedule: schedule, started: started,
		senders: senders, turn: map[load.Class]int{}, tally: newTally(file),
	}
	return r.all(ctx, file)
}

// run is one run on its way.
type run struct {
	config   Config
	schedule *load.Schedule
	started  time.Time
	senders  []*sender
	turn     map[load.Class]int // whose turn it is, for each class
	tally    *tally
}

// all sends, waits, and reports.
func (r *run) all(ctx context.Context, file *journal.File) (load.Report, error) {
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var watch sync.WaitGroup
	var stopErr error
	watch.Go(func() {
		defer stop()
		stopErr = awaitStop(sending, r.config.Control)
	})
	showing, hide := context.WithCancel(context.WithoutCancel(ctx))
	defer hide()
	var liveErr error
	watch.Go(func() { liveErr = r.show(showing) })

	var flights sync.WaitGroup
	sendErr := r.loop(sending, &flights)
	stop()
	flights.Wait()
	hide()
	watch.Wait()
	for _, s := range r.senders {
		s.close()
	}

	report, err := r.report()
	return report, errors.Join(sendErr, stopErr, liveErr, r.tally.err(), file.Close(), err)
}

// loop starts every request at its time, late ones at once, until ctx ends or
// the duration is over. It waits for none.
func (r *run) loop(ctx context.Context, flights *sync.WaitGroup) error {
	if there, err := exists(r.config.Control, stopFile); there || err != nil {
		return err
	}
	// A request on its way goes on when the run ends.
	flight := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for number := 0; ; number++ {
		next := r.schedule.Next()
		if r.config.Duration > 0 && next.Due >= r.config.Duration {
			return nil
		}
		due := r.started.Add(next.Due)
		timer.Reset(time.Until(due))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		to := r.next(next.Class)
		flights.Go(func() { r.one(flight, to, next.Class, number, due) })
	}
}

// next gives the target whose turn it is for a class.
func (r *run) next(class load.Class) *sender {
	turn := r.turn[class]
	r.turn[class] = turn + 1
	return r.senders[turn%len(r.senders)]
}

// one carries out one request, on record before and after.
func (r *run) one(ctx context.Context, to *sender, class load.Class, number int, due time.Time) {
	rec := load.Record{
		ID: r.id(number), Class: class.String(), Target: to.name, Due: due.UnixNano(), Sent: time.Now().UnixNano(),
	}
	r.tally.sent(rec)
	to.send(ctx, class, &rec)
	r.tally.ended(rec)
}

// id names a request: client, start of this run, number. The start keeps a
// restarted client from using an id again. It is no UUID on purpose: proxies
// rewrite a part of those.
func (r *run) id(number int) string {
	return r.config.Client + "-" + strconv.FormatInt(r.started.UnixNano(), 36) + "-" + strconv.Itoa(number)
}

// report makes the final report and writes it.
func (r *run) report() (load.Report, error) {
	all, err := marks(r.config.Control)
	rep := load.NewReport(r.tally.all(), all, r.started.UnixNano(), time.Now().UnixNano())
	rep.Client, rep.Seed, rep.Rate = r.config.Client, r.config.Seed, r.config.Rate
	content, jsonErr := json.MarshalIndent(rep, "", "  ")
	name := fmt.Sprintf("%s-%d.%s", r.config.Client, r.started.UnixNano(), ReportExt)
	return rep, errors.Join(err, jsonErr, journal.Replace(filepath.Join(r.config.Out, name), append(content, '\n')))
}
