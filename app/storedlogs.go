package app

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/musterhq/muster/agent/logs"
	"github.com/musterhq/muster/app/pages"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Bounds of reading stored logs.
const (
	maxReading = 2 // at the same time: each is unpacked, to its end
	maxKept    = 8 // ends of logs
)

// storedLogs reads the logs that are stored of ended processes. It keeps the ends that it read
// last, for pages that ask every second.
type storedLogs struct {
	store   *store.Store
	objects *object.Service
	reading atomic.Int32

	mu   sync.Mutex
	kept []logEnd
}

// logEnd is the end of a stored log.
type logEnd struct {
	object *object.Object
	most   int
	tail   *pages.Tail
}

// Tail returns the end of the log of the process that hosted a game session, at most so many
// bytes of each stream, or nil if none is stored. Errors: InvalidRequest (it cannot be read),
// Throttling.
func (l *storedLogs) Tail(_ context.Context, g *session.GameSession, most int) (*pages.Tail, error) {
	o := l.objects.Get(l.store.View(), object.LogBucket, compute.ParseRef(g.ProcessKey).LogKey(g.ID))
	if o == nil {
		return nil, nil
	}
	if tail := l.last(o, most); tail != nil {
		return tail, nil
	}
	defer l.reading.Add(-1)
	if l.reading.Add(1) > maxReading {
		return nil, fault.New(fault.Throttling, "%d stored logs are being read, which is the limit; try again", maxReading)
	}
	file, err := l.objects.Open(o)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	streams, err := logs.Archived(file, o.Size, most)
	if err != nil {
		return nil, fault.Invalid("what is stored of the log cannot be shown (%v); GetGameSessionLogUrl returns it as it is", err)
	}
	tail := tailFrom(protocol.Tailed{Streams: streams})
	l.keep(logEnd{o, most, tail})
	return tail, nil
}

// last returns the end of a log that was read lately, or nil.
func (l *storedLogs) last(o *object.Object, most int) *pages.Tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.kept {
		if e.object == o && e.most == most {
			return e.tail
		}
	}
	return nil
}

// keep keeps the end of a log, in place of the oldest one.
func (l *storedLogs) keep(e logEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, e)
	l.kept = l.kept[max(0, len(l.kept)-maxKept):]
}
