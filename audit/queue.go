package audit

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/plain"
	"github.com/musterhq/muster/internal/wake"
)

const (
	maxQueue     = 2048 // records waiting to be appended
	maxAlike     = 1024 // kinds of refusals counted at the same time
	flushEvery   = 200 * time.Millisecond
	countFor     = time.Minute // refusals that are alike in this time become one record
	anchorEvery  = time.Hour
	finishWithin = 5 * time.Second // of the end of Run
	maxResources = 8
	maxText      = 256
)

// queue holds records that are not appended by the command of their request.
type queue struct {
	mu      sync.Mutex
	waiting []Record
	counted map[alike]*count
	lost    int
	wake    wake.Nudge
	lostAll prometheus.Counter
}

// alike is what refusals that become one record have in common.
type alike struct{ door, action, key, claimed, source, outcome string }

// count is the number of alike refusals after the first.
type count struct {
	n     int
	until time.Time
	last  Record
}

func newQueue(r prometheus.Registerer) *queue {
	q := &queue{counted: map[alike]*count{}, wake: wake.NewNudge(), lostAll: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "muster_audit_lost_total", Help: "Audit records of reads and refusals that were not kept: too many waited.",
	})}
	if r != nil {
		r.MustRegister(q.lostAll)
	}
	return q
}

// put queues a record. A refusal is only counted if one like it came within the last
// minute.
func (q *queue) put(r Record, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.Outcome != OK {
		kind := alike{r.Door, r.Action, r.KeyID, r.ClaimedKeyID, r.Source, r.Outcome}
		if len(q.counted) >= maxAlike && q.counted[kind] == nil { // a flood from many sources
			kind = alike{door: r.Door, outcome: r.Outcome}
			r = Record{Door: r.Door, Action: "any", Outcome: r.Outcome}
		}
		if c := q.counted[kind]; c != nil {
			c.n++
			c.last = r
			return
		}
		q.counted[kind] = &count{until: now.Add(countFor)}
	}
	q.add(r)
}

// add adds a record to the queue; the caller must hold q.mu.
func (q *queue) add(r Record) {
	if len(q.waiting) >= maxQueue {
		q.lost++
		q.lostAll.Inc()
		return
	}
	q.waiting = append(q.waiting, r)
	q.wake.Send()
}

// take removes and returns the queued records, with the counts whose minute has passed,
// or all counts if final is true.
func (q *queue) take(now time.Time, final bool) []Record {
	q.mu.Lock()
	defer q.mu.Unlock()
	for kind, c := range q.counted {
		if !final && now.Before(c.until) {
			continue
		}
		delete(q.counted, kind)
		if c.n > 0 {
			if c.n > 1 {
				c.last.Count = c.n
			}
			q.add(c.last)
		}
	}
	records := q.waiting
	q.waiting = nil
	if q.lost > 0 {
		records = append(records, Record{Door: "audit", Action: "any", Outcome: "Lost", Count: q.lost})
		q.lost = 0
	}
	return records
}

// Run appends queued records, and moves the beginning of the chain, until ctx ends. What
// it is appending then it finishes, unless that takes too long. Call Flush after the last
// request.
func (l *Log) Run(ctx context.Context) {
	appending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishWithin, cancel) })()
	counts := time.NewTicker(countFor / 4)
	defer counts.Stop()
	anchors := time.NewTicker(anchorEvery)
	defer anchors.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-anchors.C:
			if err := l.Anchor(ctx, time.Now()); err != nil && ctx.Err() == nil {
				l.opts.Logger.Error("audit: the beginning of the chain was not moved", "error", err)
			}
			continue
		case <-counts.C:
		case <-l.wake:
			select { // to batch records that come at the same time
			case <-ctx.Done():
				return
			case <-time.After(flushEvery):
			}
		}
		l.flush(appending, false)
	}
}

// Flush appends all queued records and counts.
func (l *Log) Flush(ctx context.Context) { l.flush(ctx, true) }

func (l *Log) flush(ctx context.Context, final bool) {
	records := l.take(time.Now(), final)
	if len(records) == 0 {
		return
	}
	if err := l.append.Do(ctx, records); err != nil {
		l.lostAll.Add(float64(len(records)))
		l.opts.Logger.Error("audit: records were not kept", "records", len(records), "error", err)
	}
}

// text returns untrusted text, shortened to longest bytes and on one line.
func text(s string, longest int) string {
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "")
	}
	return plain.Line(s)
}
