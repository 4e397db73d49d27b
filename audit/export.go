package audit

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Sink stores records outside of the database.
type Sink interface {
	// Keep stores lines, each a Line in JSON with a line feed; last is the number of
	// the last one. It returns nil once they are stored durably. It may be called with
	// the same lines again.
	Keep(ctx context.Context, lines []byte, last uint64) error
}

const (
	exportBatch  = 500 // records at a time
	longestPause = time.Minute
)

// exports is the part of a Log that exports records to its sink.
type exports struct {
	cursors  *store.Table[Cursor]
	advance  *store.Action[Cursor]
	failures prometheus.Counter
}

// Cursor is the progress of the export. It is part of the state: a server that takes
// over continues from there.
type Cursor struct {
	ID  string `json:"id"`  // always cursorID
	Seq uint64 `json:"seq"` // the sink has stored everything up to this number
}

const cursorID = "sink"

func newExports(l *Log) *exports {
	x := &exports{failures: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "muster_audit_sink_failures_total", Help: "Attempts to hand records to the audit sink that failed; they are tried again.",
	})}
	x.cursors = store.NewTable(l.store, store.TableSpec[Cursor]{Name: "audit_sink", Key: func(c *Cursor) string { return c.ID }})
	x.advance = store.NewAction(l.store, "audit.kept", x.runAdvance)
	if l.opts.Sink != nil && l.opts.Registerer != nil {
		l.opts.Registerer.MustRegister(x.failures, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "muster_audit_sink_waiting", Help: "Audit records that the sink does not keep yet.",
		}, func() float64 { return float64(l.waitingForSink()) }))
	}
	return x
}

func (x *exports) runAdvance(tx *store.Tx, to Cursor) error {
	if c := x.cursors.Get(tx, cursorID); c == nil || c.Seq < to.Seq {
		x.cursors.Put(tx, &Cursor{cursorID, to.Seq})
	}
	return nil
}

// exported returns the number of the last record that the sink has stored.
func (l *Log) exported(r store.Reader) uint64 {
	if c := l.cursors.Get(r, cursorID); c != nil {
		return c.Seq
	}
	return 0
}

func (l *Log) waitingForSink() uint64 {
	view := l.store.View()
	c := l.chain.Get(view, chainID)
	if c == nil {
		return 0
	}
	return c.Seq - min(c.Seq, max(l.exported(view), c.From-1))
}

// Export sends the records to the sink, in order, until ctx ends: every record at least
// once, unless it is pruned from the log before. A new sink begins with the oldest.
func (l *Log) Export(ctx context.Context) {
	if l.opts.Sink == nil {
		return
	}
	nudge, end := l.log.Watch()
	defer end()
	for failures := 0; ctx.Err() == nil; {
		more, err := l.export(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			if failures == 0 {
				l.opts.Logger.Error("audit: the sink does not keep records; they wait", "error", err)
			}
			l.failures.Inc()
			wake.Sleep(ctx, min(time.Second<<min(failures, 6), longestPause))
			failures++
			continue
		case failures > 0:
			l.opts.Logger.Info("audit: the sink keeps records again", "failures", failures)
		}
		failures = 0
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-nudge:
			wake.Sleep(ctx, flushEvery) // to batch records that come at the same time
		}
	}
}

// export sends a batch and reports whether there may be more.
func (l *Log) export(ctx context.Context) (more bool, err error) {
	batch, err := l.log.Read(ctx, store.LogQuery{AfterSeq: l.exported(l.store.View()), Limit: exportBatch})
	if err != nil || len(batch) == 0 {
		return false, err
	}
	var lines []byte
	for _, e := range batch {
		line, err := json.Marshal(Line{e.Seq, *e.Value}, json.Deterministic(true))
		if err != nil {
			return false, err
		}
		lines = append(append(lines, line...), '\n')
	}
	last := batch[len(batch)-1].Seq
	if err := l.opts.Sink.Keep(ctx, lines, last); err != nil {
		return false, err
	}
	err = l.advance.Do(ctx, Cursor{Seq: last})
	return len(batch) == exportBatch, err
}
