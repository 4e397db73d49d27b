package notify

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/wake"
)

// fate is the outcome of the notice at a position in the batch.
type fate struct {
	at   int
	dead *DeadLetter // nil: delivered
}

// batch delivers entries and moves the cursor past them. If it is cut off, it moves the
// cursor past the entries up to which all are done.
func (k *sink) batch(ctx context.Context, cursor *Cursor, entries []event.Entry) error {
	sending, cut := context.WithCancel(ctx)
	defer cut()
	k.setCut(cut)
	defer k.setCut(nil)
	p := newProgress(entries)
	lanes, err := k.lanes(entries, p)
	if err != nil {
		return err
	}
	k.oldest.Store(p.oldest())
	fates := make(chan fate, len(entries))
	var running sync.WaitGroup
	for _, lane := range lanes {
		running.Go(func() { k.deliver(sending, lane, fates) })
	}
	go func() {
		running.Wait()
		close(fates)
	}()
	err = k.collect(ctx, cursor, p, fates)
	cut()
	running.Wait()
	return err
}

type place struct {
	at int
	notice
}

// lanes divides the notices that the sink wants into sequences that are delivered
// concurrently; it marks the rest of the batch as done.
func (k *sink) lanes(entries []event.Entry, p *progress) ([][]place, error) {
	lanes := make([][]place, k.cfg.InFlight)
	for i, e := range entries {
		n, err := newNotice(k.svc.opts.Home, e)
		if err != nil {
			return nil, err
		}
		if !k.wants(&n) {
			p.finish(i)
			continue
		}
		lane := 0
		if len(lanes) > 1 {
			h := fnv.New32a()
			h.Write([]byte(n.subject()))
			lane = int(h.Sum32() % uint32(len(lanes)))
		}
		lanes[lane] = append(lanes[lane], place{i, n})
	}
	return lanes, nil
}

// deliver sends a lane's notices to the receiver, one after the other, until all are
// delivered or dead, or ctx ends.
func (k *sink) deliver(ctx context.Context, lane []place, fates chan<- fate) {
	for i := range lane {
		dead := k.insist(ctx, &lane[i].notice)
		if ctx.Err() != nil {
			return // the outcome is not known
		}
		fates <- fate{lane[i].at, dead}
	}
}

// insist tries until the notice is delivered or given up. A delivery that ended just
// when ctx did counts as not delivered.
func (k *sink) insist(ctx context.Context, n *notice) *DeadLetter {
	var err error
	for try := 1; ; try++ {
		if !wake.Sleep(ctx, k.rest(try, err)) {
			return nil
		}
		givesUp := func(err error) bool { return try >= k.cfg.MaxAttempts || isRefusal(err) && try >= maxRefusals }
		err = k.attempt(ctx, n, try, false, givesUp)
		if ctx.Err() != nil || err == nil {
			return nil
		}
		if givesUp(err) {
			return k.giveUp(n, try, err)
		}
	}
}

// maxRefusals is how many refusals by the receiver make a notice dead.
const maxRefusals = 3

func (k *sink) giveUp(n *notice, tries int, err error) *DeadLetter {
	k.svc.metrics.deliveries.WithLabelValues(k.cfg.Name, resultDead).Inc()
	k.svc.log.Warn("notice not delivered; kept as a dead letter",
		"sink", k.cfg.Name, "seq", n.seq, "event_id", n.event.ID, "attempts", tries, "error", err)
	return &DeadLetter{
		Sink: k.cfg.Name, Seq: n.seq, EventID: n.event.ID, DetailType: n.event.Notice.DetailType,
		Topic: n.target(), Error: err.Error(), Attempts: tries,
	}
}

// How often the cursor is moved during a long batch, and how long the last move may take
// when the sink stops.
const (
	moveEvery    = time.Second
	stopMoveTime = 5 * time.Second
)

// collect moves the cursor as fates arrive: when a notice is dead, when the last move was
// moveEvery ago, and at the end. With fast receivers that is once per batch, with slow
// ones once per notice.
func (k *sink) collect(ctx context.Context, cursor *Cursor, p *progress, fates <-chan fate) error {
	moved := time.Now()
	for f := range fates {
		p.finish(f.at)
		if f.dead != nil {
			p.dead = append(p.dead, *f.dead)
		}
		k.oldest.Store(p.oldest())
		if f.dead == nil && time.Since(moved) < moveEvery {
			continue
		}
		if err := k.move(ctx, cursor, p); err != nil {
			return err
		}
		moved = time.Now()
	}
	// What has been delivered must be recorded, even if the sink stops.
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMoveTime)
	defer cancel()
	return k.move(keep, cursor, p)
}

// move makes the progress of a batch durable.
func (k *sink) move(ctx context.Context, cursor *Cursor, p *progress) error {
	if p.seq() <= p.moved && len(p.dead) == 0 {
		return nil
	}
	a := advance{Sink: k.cfg.Name, Generation: cursor.Generation, Seq: p.seq(), Dead: p.dead}
	if err := k.svc.cmd.advance.Do(ctx, a); err != nil {
		return err
	}
	p.moved, p.dead = a.Seq, nil
	return nil
}

// progress records which entries of a batch are done.
type progress struct {
	entries []event.Entry
	done    []bool
	next    int    // everything before it is done
	moved   uint64 // the cursor's last stored position
	dead    []DeadLetter
}

func newProgress(entries []event.Entry) *progress {
	return &progress{entries: entries, done: make([]bool, len(entries))}
}

func (p *progress) finish(at int) {
	p.done[at] = true
	for p.next < len(p.done) && p.done[p.next] {
		p.next++
	}
}

// seq returns how far the cursor may move, or 0 if the first entry is not done.
func (p *progress) seq() uint64 {
	if p.next == 0 {
		return 0
	}
	return p.entries[p.next-1].Seq
}

// oldest returns the time of the first entry that is not done, or 0 if all are.
func (p *progress) oldest() int64 {
	if p.next == len(p.entries) {
		return 0
	}
	return p.entries[p.next].Time.UnixNano()
}
