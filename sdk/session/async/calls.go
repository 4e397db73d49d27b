package async

import (
	"context"

	"github.com/musterhq/muster/sdk/session"
)

// Create completes with CreateComplete.
func (a *Adapter) Create(r session.CreateRequest) {
	a.run(func(ctx context.Context, err error) func(Listener) {
		var created session.Created
		if err == nil {
			created, err = a.sessions.Create(ctx, r)
		}
		return func(l Listener) { call2(l.CreateComplete, created, err) }
	})
}

// Search completes with SearchComplete and the sessions found, including those found
// before an error.
func (a *Adapter) Search(r session.SearchRequest) {
	a.run(func(ctx context.Context, err error) func(Listener) {
		var found []session.Info
		if err == nil {
			found, err = a.search(ctx, r)
		}
		return func(l Listener) { call2(l.SearchComplete, found, err) }
	})
}

func (a *Adapter) search(ctx context.Context, r session.SearchRequest) ([]session.Info, error) {
	var found []session.Info
	for info, err := range a.sessions.Search(ctx, r) {
		if err != nil {
			return found, err
		}
		found = append(found, info)
	}
	return found, nil
}

// Join completes with JoinComplete; with ErrConnect the connection is set too.
func (a *Adapter) Join(r session.JoinRequest) {
	a.run(func(ctx context.Context, err error) func(Listener) {
		var place session.Connection
		if err == nil {
			place, err = a.sessions.Join(ctx, r)
		}
		return func(l Listener) { call2(l.JoinComplete, place, err) }
	})
}

// Leave completes with LeaveComplete.
func (a *Adapter) Leave() {
	a.run(func(ctx context.Context, err error) func(Listener) {
		if err == nil {
			err = a.sessions.Leave(ctx)
		}
		return func(l Listener) { call1(l.LeaveComplete, err) }
	})
}

// StartMatchmaking completes with StartMatchmakingComplete. It does not follow the
// ticket; StartPolling does.
func (a *Adapter) StartMatchmaking(r session.MatchRequest) {
	a.run(func(ctx context.Context, err error) func(Listener) {
		var ticket session.Ticket
		if err == nil {
			ticket, err = a.match.StartMatchmaking(ctx, r)
		}
		return func(l Listener) { call2(l.StartMatchmakingComplete, ticket, err) }
	})
}

// StopMatchmaking completes with StopMatchmakingComplete.
func (a *Adapter) StopMatchmaking(ticketID string) {
	a.run(func(ctx context.Context, err error) func(Listener) {
		if err == nil {
			err = a.match.StopMatchmaking(ctx, ticketID)
		}
		return func(l Listener) { call1(l.StopMatchmakingComplete, err) }
	})
}

// AcceptMatch completes with AcceptMatchComplete.
func (a *Adapter) AcceptMatch(ticketID string, accept bool, playerIDs ...string) {
	a.run(func(ctx context.Context, err error) func(Listener) {
		if err == nil {
			err = a.match.AcceptMatch(ctx, ticketID, accept, playerIDs...)
		}
		return func(l Listener) { call1(l.AcceptMatchComplete, err) }
	})
}

func call1[A any](f func(A), a A) {
	if f != nil {
		f(a)
	}
}

func call2[A, B any](f func(A, B), a A, b B) {
	if f != nil {
		f(a, b)
	}
}
