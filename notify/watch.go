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
	wake.Run(ctx, nudge, func(ctx context.Context) time.Time {
		seq, err := s.newest(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("event log not read for notices", "error", err)
			}
			wake.Sleep(ctx, time.Second)
			return time.Now()
		}
		if seq > newest {
			newest = seq
			for _, k := range s.current() {
				k.wakeup.Send()
			}
		}
		wake.Sleep(ctx, lull)
		return time.Time{}
	})
}

// newest returns the number of the latest notice, or 0 if there is none.
func (s *Service) newest(ctx context.Context) (uint64, error) {
	entries, err := s.events.Read(ctx, event.Query{Notices: true, NewestFirst: true, Limit: 1})
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return entries[0].Seq, nil
}
