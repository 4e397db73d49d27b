package notify

import (
	"context"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/wake"
)

// lull is how long the watch waits after each check, so that thousands of commits per
// second, most of them without a notice, cost a few hundred small reads.
const lull = 5 * time.Millisecond

// watch wakes the sinks when the log has a new notice. It is the single reader that
// checks each change of the log, for all sinks.
func (s *Service) watch(ctx context.Context) {
	nudge, end := s.events.Watch()
	defer end()
	var newest uint64
	for {
		wait := lull
		seq, err := s.newest(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Warn("event log not read for notices", "error", err)
			wait = time.Second
		case seq > newest:
			newest = seq
			s.wake()
		}
		if !wake.Sleep(ctx, wait) {
			return
		}
		if err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-nudge:
		}
	}
}

// newest returns the number of the latest notice, or 0 if there is none.
func (s *Service) newest(ctx context.Context) (uint64, error) {
	entries, err := s.events.Read(ctx, event.Query{Notices: true, NewestFirst: true, Limit: 1})
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return entries[0].Seq, nil
}

func (s *Service) wake() {
	for _, k := range s.current() {
		k.nudge()
	}
}
