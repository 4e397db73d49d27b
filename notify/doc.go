// Package notify delivers the notices of the event log (event.Notice) to sinks outside,
// in the forms that subscribers of AWS expect.
//
// It owns one cursor per sink, the subscriptions of SNS endpoints, and the dead
// letters; all are rows of the store. It decides nothing about games, and it never
// sees a notice before the commit that made it true, since it reads the committed
// log. A sink that is slow or gone does not affect others.
//
//	event log ──▶ watch ──▶ one goroutine per sink: read a batch after the cursor,
//	                        deliver it in order, then move the cursor
//
// Delivery is at least once: after a crash between a delivery and the move of
// the cursor, up to one batch is delivered again, with the same ids. A failed
// delivery is retried with growing pauses; one that never succeeds becomes a dead
// letter, kept for DeadLetterRetention, which can be delivered again.
// How operators and subscribers use it is in docs/notifications.md.
package notify
