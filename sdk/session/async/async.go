// Package async offers package session's calls to game engines that work with
// callbacks: each call returns immediately and its result goes to the Listeners, as
// with the O3DE session buses. Every call completes exactly once, also if its
// arguments are invalid or the adapter is closed, and every completion has the error
// that the O3DE notifications lack.
package async

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/musterhq/muster/sdk/session"
)

// ErrClosed is the result of calls made after Close, or not yet started then.
var ErrClosed = errors.New("the adapter is closed")

// Options configures an Adapter.
type Options struct {
	// Workers is how many calls run at a time; default 4. Further calls wait.
	Workers int
	// Dispatch runs a callback where the engine needs it, such as on its main thread.
	// It must run each function once, in order. By default callbacks run on the
	// goroutine of the call.
	Dispatch func(func())
}

// Listener receives results. A nil function is not called.
type Listener struct {
	CreateComplete           func(session.Created, error)
	SearchComplete           func([]session.Info, error)
	JoinComplete             func(session.Connection, error)
	LeaveComplete            func(error)
	StartMatchmakingComplete func(session.Ticket, error)
	StopMatchmakingComplete  func(error)
	AcceptMatchComplete      func(error)

	// Events from StartPolling.
	MatchProgress   func(session.Ticket)
	MatchAcceptance func(session.Ticket)
	MatchComplete   func(session.Ticket)
	MatchFailure    func(session.Ticket)
	MatchError      func(ticketID string, err error)
}

// Adapter makes the calls. Create one with New.
type Adapter struct {
	sessions session.Sessions
	match    session.Matchmaking
	tracker  session.Tracker
	dispatch func(func())
	slots    chan struct{}
	ctx      context.Context // of all calls; Close ends it
	cancel   context.CancelFunc

	mu        sync.Mutex
	closed    bool
	calls     sync.WaitGroup
	listeners map[int]Listener
	nextID    int
	polling   map[string]*polling // by ticket
}

type polling struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New returns an adapter. Arguments whose calls are not used may be nil.
func New(s session.Sessions, m session.Matchmaking, tr session.Tracker, o Options) *Adapter {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.Dispatch == nil {
		o.Dispatch = func(f func()) { f() }
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Adapter{
		sessions: s, match: m, tracker: tr, dispatch: o.Dispatch, slots: make(chan struct{}, o.Workers),
		ctx: ctx, cancel: cancel, listeners: map[int]Listener{}, polling: map[string]*polling{},
	}
}

// Subscribe adds a listener until cancel is called.
func (a *Adapter) Subscribe(l Listener) (cancel func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := a.nextID
	a.nextID++
	a.listeners[id] = l
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.listeners, id)
	}
}

// Close cancels everything: running calls complete with the context's error, polling
// stops. It returns once all completions have been handed to Dispatch.
func (a *Adapter) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	a.calls.Wait()
}

// run makes a call on its own goroutine and completes it once, with the function of each
// listener. After Close it does not make the call and completes it with ErrClosed.
func run[T any](a *Adapter, call func(context.Context) (T, error), complete func(Listener) func(T, error)) {
	end := func(result T, err error) {
		a.tell(func(l Listener) {
			if f := complete(l); f != nil {
				f(result, err)
			}
		})
	}
	var none T
	a.mu.Lock()
	closed := a.closed
	if !closed {
		a.calls.Add(1)
	}
	a.mu.Unlock()
	if closed {
		end(none, ErrClosed)
		return
	}
	go func() {
		defer a.calls.Done()
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
			end(call(a.ctx))
		case <-a.ctx.Done():
			end(none, ErrClosed)
		}
	}()
}

func (a *Adapter) tell(outcome func(Listener)) {
	a.mu.Lock()
	listeners := make([]Listener, 0, len(a.listeners))
	for _, id := range slices.Sorted(maps.Keys(a.listeners)) { // in order of subscription
		listeners = append(listeners, a.listeners[id])
	}
	a.mu.Unlock()
	a.dispatch(func() {
		for _, l := range listeners {
			outcome(l)
		}
	})
}
