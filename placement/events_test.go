package placement

import "github.com/musterhq/muster/event"

// eventsAfter reads the log forward in pages.
func eventsAfter(seq uint64) event.Query { return event.Query{After: seq, Limit: 1000} }
