// Package archive stores all events outside of the database, as compressed files of JSON
// lines, before the event log removes them.
//
// It owns the archive's position in the log, which is a row of the store. The owner of the
// cell moves it in three steps, each of which a crash or a takeover may follow:
//
//	cut    a command decides which event the next object ends with
//	write  the object is stored under a name that says where it begins and ends
//	move   a command records that the archive has these events
//
// Since the cut is durable, a node that repeats the write stores the same events under the same
// name: every event is in exactly one object. Events that the archive does not have are kept
// past their retention (event.Log.Hold). What is removed all the same, after an outage of
// the archive that is longer, is counted, and told as an event.
//
// How operators use it is in docs/operations.md.
package archive
