package compute

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// InitHint is how long a program may run without calling InitSDK before an event reports
// it to its developer.
const InitHint = 10 * time.Second

// noticeArgs is something that the developer of a game server should know although no
// process in the store is affected.
type noticeArgs struct {
	Ref  Ref
	Text string
}

// Refused reports to the developer that connections of a fleet's game servers were
// refused, since their SDKs do not show the reason. The caller limits how often.
func (g *registry) Refused(ctx context.Context, ref Ref, text string) error {
	return g.notice.Do(ctx, noticeArgs{ref, text})
}

// Uninitialized reports to the developer that a program runs and has called neither InitSDK
// nor ready of the HTTP interface.
// closed is why processes with Server SDK 3 and 4 cannot connect there, or "".
func (g *registry) Uninitialized(ctx context.Context, ref Ref, closed string) error {
	return g.notice.Do(ctx, noticeArgs{ref, uninitialized(ref, closed)})
}

// LegacyContained is why a process with Server SDK 3 or 4 may not connect in a container.
const LegacyContained = "in a container, it connects only if containers use the machine's network (--engine-network host), or if the image's command begins with muster wrap --legacy-sdk --"

// RecordUninitialized is like Uninitialized inside a transaction of a package above.
func (g *registry) RecordUninitialized(tx *store.Tx, ref Ref, closed string) {
	g.runNotice(tx, noticeArgs{ref, uninitialized(ref, closed)})
}

// uninitialized returns the developer's message, with the remedy.
func uninitialized(ref Ref, closed string) string {
	text := fmt.Sprintf("Process %s on %s has run for %s and has not called InitSDK, nor ready of the HTTP interface: it is given no game session. "+
		"Where it knows no SDK, call ready of the HTTP interface at MUSTER_GAME_URL, or use --no-sdk of muster local --exec, or begin a fleet's parameters with {{.NoSDK}}", ref.ProcessID, ref.ComputeName, InitHint)
	if closed != "" {
		text += ". If it has Server SDK 3 or 4, it cannot connect: " + closed
	}
	return text
}

func (g *registry) runNotice(tx *store.Tx, a noticeArgs) error {
	if g.fleets.Get(tx, a.Ref.FleetID) == nil {
		return nil // its fleet does not exist
	}
	e := event.Event{Code: event.GenericEvent, FleetID: a.Ref.FleetID, ComputeName: a.Ref.ComputeName, ProcessID: a.Ref.ProcessID, Message: a.Text}
	if c := g.Get(tx, a.Ref.FleetID, a.Ref.ComputeName); c != nil {
		e.Location = c.Location
	}
	g.events.Append(tx, e)
	return nil
}
