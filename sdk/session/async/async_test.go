package async_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/async"
)

// slow is a service whose calls each take a minute.
type slow struct {
	session.Sessions
	session.Matchmaking
}

func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return nil
	}
}

func (slow) Create(ctx context.Context, r session.CreateRequest) (session.Created, error) {
	if err := r.Validate(); err != nil {
		return session.Created{}, err
	}
	return session.Created{PlacementID: r.PlacementID}, wait(ctx)
}

func (slow) Search(ctx context.Context, _ session.SearchRequest) iter.Seq2[session.Info, error] {
	return func(yield func(session.Info, error) bool) {
		if yield(session.Info{ID: "g"}, nil) {
			yield(session.Info{}, session.ErrThrottled)
		}
	}
}

func (slow) Join(ctx context.Context, r session.JoinRequest) (session.Connection, error) {
	return session.Connection{PlayerID: r.PlayerID}, session.ErrConnect
}

func (slow) Leave(ctx context.Context) error { return wait(ctx) }

func (slow) StartMatchmaking(ctx context.Context, r session.MatchRequest) (session.Ticket, error) {
	return session.Ticket{ID: r.TicketID}, r.Validate()
}

func (slow) StopMatchmaking(ctx context.Context, _ string) error { return wait(ctx) }

func (slow) AcceptMatch(ctx context.Context, _ string, _ bool, _ ...string) error { return wait(ctx) }

func (slow) Track(ctx context.Context, ids ...string) iter.Seq[session.TicketEvent] {
	return func(yield func(session.TicketEvent) bool) {
		for _, kind := range []session.EventKind{session.Progress, session.AcceptanceRequired, session.TrackError, session.MatchComplete} {
			if wait(ctx) != nil || !yield(session.TicketEvent{Kind: kind, Ticket: session.Ticket{ID: ids[0]}, Err: session.ErrThrottled}) {
				return
			}
		}
	}
}

// diary records each callback.
type diary struct {
	mu   sync.Mutex
	got  []string
	errs []error
}

func (d *diary) note(what string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got, d.errs = append(d.got, what), append(d.errs, err)
}

func (d *diary) listener() async.Listener {
	return async.Listener{
		CreateComplete:           func(_ session.Created, err error) { d.note("create", err) },
		SearchComplete:           func(found []session.Info, err error) { d.note("search"+string(rune('0'+len(found))), err) },
		JoinComplete:             func(c session.Connection, err error) { d.note("join "+c.PlayerID, err) },
		LeaveComplete:            func(err error) { d.note("leave", err) },
		StartMatchmakingComplete: func(_ session.Ticket, err error) { d.note("start", err) },
		StopMatchmakingComplete:  func(err error) { d.note("stop", err) },
		AcceptMatchComplete:      func(err error) { d.note("accept", err) },
		MatchProgress:            func(session.Ticket) { d.note("progress", nil) },
		MatchAcceptance:          func(session.Ticket) { d.note("acceptance", nil) },
		MatchComplete:            func(session.Ticket) { d.note("complete", nil) },
		MatchError:               func(_ string, err error) { d.note("error", err) },
	}
}

func callAll(a *async.Adapter) {
	a.Create(session.CreateRequest{Target: session.Target{QueueName: "q"}})
	a.Create(session.CreateRequest{})
	a.Search(session.SearchRequest{})
	a.Join(session.JoinRequest{PlayerID: "p"})
	a.Leave()
	a.StartMatchmaking(session.MatchRequest{})
	a.StopMatchmaking("t")
	a.AcceptMatch("t", true, "p")
}

func TestAdapter_CompletesEachCallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := async.New(slow{}, slow{}, slow{}, async.Options{Workers: 2})
		var d, gone diary
		a.Subscribe(d.listener())
		a.Subscribe(async.Listener{}) // all its functions are nil
		a.Subscribe(gone.listener())()
		callAll(a)
		pass(time.Hour)
		synctest.Wait()
		slices.Sort(d.got)
		want := []string{"accept", "create", "create", "join p", "leave", "search1", "start", "stop"}
		if !slices.Equal(d.got, want) || len(gone.got) > 0 {
			t.Errorf("got %q, want %q; after unsubscribing %q", d.got, want, gone.got)
		}
		a.Close()
	})
}

func TestAdapter_ClosedStillCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := async.New(slow{}, slow{}, slow{}, async.Options{Workers: 1})
		var d diary
		a.Subscribe(d.listener())
		callAll(a)
		a.Close()
		if len(d.got) != 8 {
			t.Errorf("got %q, want all 8 calls completed when Close returns", d.got)
		}
		callAll(a)
		if len(d.got) != 16 {
			t.Errorf("got %q, want 8 more after Close", d.got[8:])
		}
		for _, err := range d.errs[8:] {
			if !errors.Is(err, async.ErrClosed) {
				t.Errorf("after Close: got %v", err)
			}
		}
	})
}

func TestAdapter_Polling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queue []func() // the engine's main thread
		var mu sync.Mutex
		a := async.New(nil, nil, slow{}, async.Options{Dispatch: func(f func()) {
			mu.Lock()
			defer mu.Unlock()
			queue = append(queue, f)
		}})
		var d diary
		a.Subscribe(d.listener())
		a.StartPolling("t")
		a.StartPolling("t") // already followed
		pass(150 * time.Second)
		synctest.Wait()
		a.StopPolling("t")
		a.StopPolling("t")
		if len(d.got) != 0 || len(queue) != 2 {
			t.Errorf("got %q on another goroutine, %d dispatched", d.got, len(queue))
		}
		a.StartPolling("t")
		pass(time.Hour)
		synctest.Wait()
		a.Close()
		for _, f := range queue {
			f()
		}
		want := []string{"progress", "acceptance", "progress", "acceptance", "error", "complete"}
		if !slices.Equal(d.got, want) {
			t.Errorf("got %q, want %q", d.got, want)
		}
	})
}

// pass lets d of a bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }
