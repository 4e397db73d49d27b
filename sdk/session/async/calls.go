package async

import (
	"context"

	"github.com/musterhq/muster/sdk/session"
)

// Create completes with CreateComplete.
func (a *Adapter) Create(r session.CreateRequest) {
	run(a, func(ctx context.Context) (session.Created, error) { return a.sessions.Create(ctx, r) },
		func(l Listener) func(session.Created, error) { return l.CreateComplete })
}

// Search completes with SearchComplete and the sessions found, including those found
// before an error.
func (a *Adapter) Search(r session.SearchRequest) {
	run(a, func(ctx context.Context) (found []session.Info, err error) {
		for info, err := range a.sessions.Search(ctx, r) {
			if err != nil {
				return found, err
			}
			found = append(found, info)
		}
		return found, nil
	}, func(l Listener) func([]session.Info, error) { return l.SearchComplete })
}

// Join completes with JoinComplete; with ErrConnect the connection is set too.
func (a *Adapter) Join(r session.JoinRequest) {
	run(a, func(ctx context.Context) (session.Connection, error) { return a.sessions.Join(ctx, r) },
		func(l Listener) func(session.Connection, error) { return l.JoinComplete })
}

// Leave completes with LeaveComplete.
func (a *Adapter) Leave() {
	runPlain(a, a.sessions.Leave, func(l Listener) func(error) { return l.LeaveComplete })
}

// StartMatchmaking completes with StartMatchmakingComplete. It does not follow the
// ticket; StartPolling does.
func (a *Adapter) StartMatchmaking(r session.MatchRequest) {
	run(a, func(ctx context.Context) (session.Ticket, error) { return a.match.StartMatchmaking(ctx, r) },
		func(l Listener) func(session.Ticket, error) { return l.StartMatchmakingComplete })
}

// StopMatchmaking completes with StopMatchmakingComplete.
func (a *Adapter) StopMatchmaking(ticketID string) {
	runPlain(a, func(ctx context.Context) error { return a.match.StopMatchmaking(ctx, ticketID) },
		func(l Listener) func(error) { return l.StopMatchmakingComplete })
}

// AcceptMatch completes with AcceptMatchComplete.
func (a *Adapter) AcceptMatch(ticketID string, accept bool, playerIDs ...string) {
	runPlain(a, func(ctx context.Context) error { return a.match.AcceptMatch(ctx, ticketID, accept, playerIDs...) },
		func(l Listener) func(error) { return l.AcceptMatchComplete })
}

// runPlain is run for calls whose only result is an error.
func runPlain(a *Adapter, call func(context.Context) error, complete func(Listener) func(error)) {
	run(a, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) },
		func(l Listener) func(struct{}, error) {
			if f := complete(l); f != nil {
				return func(_ struct{}, err error) { f(err) }
			}
			return nil
		})
}
