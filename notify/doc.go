// Package notify tells the world outside: it delivers the notices of the event
// log (event.Notice) to sinks, in the forms that subscribers of AWS expect.
//
// It owns one cursor a sink, the subscriptions of SNS endpoints, and the dead
// letters; all are rows of the store. It decides nothing about games, and it
// never hears of a notice before the commit that made it true, since it reads
// the log from behind. A sink that is slow or gone costs nobody else anything.
//
//	event log ──▶ watch ──▶ one goroutine a sink: read a batch behind the cursor,
//	                        deliver it in order, then move the cursor
//
// Delivery is at least once: after a crash between a delivery and the move of
// the cursor, up to one batch comes again, with the same ids. A delivery that
// fails is tried again with growing pauses; one that never succeeds becomes a
// dead letter, kept for DeadLetterRetention, which can be delivered again.
// How operators and subscribers use it is in docs/notifications.md.
package notify
