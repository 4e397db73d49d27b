package placement

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/session"
)

// far is a remote with one fleet in one location, behind an unreliable network. It is as
// idempotent as the API's reference says, and no more. Only creations may arrive after
// their sender gave up: a late reservation of slots would just expire.
type far struct {
	mu       sync.Mutex
	rand     *rand.Rand
	name     string
	free     int
	cost     float64
	losses   int                       // in 100 calls, how many get no answer
	refuses  int                       // in 100 creations
	cut      bool                      // nothing is reached
	survives bool                      // game sessions neither fail nor end
	mute     func(what string) bool    // requests that get no answer, though they are carried out
	blind    func(what string) bool    // requests for which there are no game sessions
	lingers  time.Duration             // how long a game session is TERMINATING
	denies   func(r *Request) *Refusal // of a creation; nil allows it
	sessions map[string]*farSession
	calls    map[string]int // by operation
	late     sync.WaitGroup // requests that are carried out after their sender gave up
}

type farSession struct {
	RemoteSession
	token           string
	players         []Placed
	activeAt, endAt time.Time
}

var errLost = errors.New("the connection was lost")

func newFar(name string, free int, seed uint64) *far {
	return &far{name: name, free: free, rand: rand.New(rand.NewPCG(seed, 7)), sessions: map[string]*farSession{}, calls: map[string]int{}}
}

const farRegion, farAccount = "eu-west-1", "222222222222"

func (f *far) destination() string {
	return "arn:aws:gamelift:" + farRegion + ":" + farAccount + ":fleet/fleet-" + f.name
}

func (f *far) Name() string                { return f.name }
func (f *far) Poll() time.Duration         { return 5 * time.Second }
func (f *far) Has(destination string) bool { return destination == f.destination() }

// set changes the remote between requests.
func (f *far) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// asked returns how many requests of an operation there were.
func (f *far) asked(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[what]
}

// call carries out a request of a client: at once or late, with an answer or without.
func (f *far) call(ctx context.Context, what string, do func() error) error {
	f.mu.Lock()
	f.calls[what]++
	mute := f.mute != nil && f.mute(what)
	cut, lost, before := f.cut, f.rand.IntN(100) < f.losses, f.rand.IntN(3)
	there, back := time.Duration(f.rand.IntN(200))*time.Millisecond, time.Duration(f.rand.IntN(200))*time.Millisecond
	later := time.Duration(f.rand.IntN(int(lateness / 2)))
	f.mu.Unlock()
	if cut {
		return &Refusal{Kind: Unreachable, Message: "no connection"}
	}
	carryOut := func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		return do()
	}
	if lost && before == 0 {
		wait.Pass(there)
		return errLost
	}
	if lost && before == 1 && what == "Create" { // the sender gives up before the request arrives
		f.late.Go(func() { wait.Pass(there + later); _ = carryOut() })
		wait.Pass(there)
		return errLost
	}
	wait.Pass(there)
	err := carryOut()
	wait.Pass(back)
	if lost || mute || ctx.Err() != nil {
		return errLost
	}
	return err
}

// now brings a game session up to date.
func (s *farSession) now() RemoteSession {
	switch t := time.Now(); {
	case !s.endAt.IsZero() && !t.Before(s.endAt):
		s.Status = session.Terminated
	case s.Status == session.Terminating:
	case s.Status == session.Activating && !t.Before(s.activeAt):
		s.Status = session.Active
	}
	return s.RemoteSession
}

func (f *far) Survey(ctx context.Context, _ string) (found Survey, err error) {
	err = f.call(ctx, "Survey", func() error {
		found = Survey{FleetID: "fleet-" + f.name, Cost: f.cost, Places: []RemotePlace{{Location: "custom-" + f.name, Active: true, Free: f.free}}}
		return nil
	})
	return found, err
}

func (f *far) Create(ctx context.Context, at Place, token string, r *Request) (made RemoteSession, err error) {
	err = f.call(ctx, "Create", func() error {
		if s := f.byToken(token); s != nil {
			made = s.now()
			return nil
		}
		if f.denies != nil {
			if no := f.denies(r); no != nil {
				return no
			}
		}
		if f.rand.IntN(100) < f.refuses {
			return &Refusal{Kind: []RefusalKind{Refused, Throttled, WrongStatus}[f.rand.IntN(3)], Message: "no"}
		}
		if f.free == 0 {
			return &Refusal{Kind: Full, Message: "FleetCapacityExceededException: no process"}
		}
		f.free--
		s := &farSession{token: token, RemoteSession: RemoteSession{
			ID: "arn:aws:gamelift:" + farRegion + "::gamesession/" + at.FleetID + "/" + at.Location + "/" + token, Status: session.Activating,
			IPAddress: "192.0.2.9", Port: 7000 + len(f.sessions),
		}}
		s.activeAt = time.Now().Add(time.Duration(f.rand.IntN(3000)) * time.Millisecond)
		if !f.survives && f.rand.IntN(5) == 0 {
			s.endAt = time.Now().Add(time.Duration(f.rand.IntN(4000)) * time.Millisecond)
		}
		f.sessions[s.ID] = s
		made = s.now()
		return nil
	})
	return made, err
}

func (f *far) byToken(token string) *farSession {
	for _, s := range f.sessions {
		if s.token == token {
			return s
		}
	}
	return nil
}

func (f *far) Find(ctx context.Context, at Place, token string) (RemoteSession, error) {
	return f.Describe(ctx, "arn:aws:gamelift:"+farRegion+"::gamesession/"+at.FleetID+"/"+at.Location+"/"+token)
}

// with calls do for a game session.
func (f *far) with(ctx context.Context, what, id string, do func(*farSession) error) error {
	return f.call(ctx, what, func() error {
		s := f.sessions[id]
		if s == nil || f.blind != nil && f.blind(what) {
			return &Refusal{Kind: Missing, Message: "NotFoundException"}
		}
		s.now()
		return do(s)
	})
}

func (f *far) Describe(ctx context.Context, id string) (found RemoteSession, err error) {
	err = f.with(ctx, "Describe", id, func(s *farSession) error { found = s.now(); return nil })
	return found, err
}

func (f *far) Reserve(ctx context.Context, id string, players []session.Joining) (made []Placed, err error) {
	err = f.with(ctx, "Reserve", id, func(s *farSession) error {
		if s.Status != session.Active {
			return &Refusal{Kind: WrongStatus, Message: "InvalidGameSessionStatusException"}
		}
		for _, p := range players {
			made = append(made, Placed{p.PlayerID, fmt.Sprint("psess-", len(s.players))})
			s.players = append(s.players, made[len(made)-1])
		}
		return nil
	})
	return made, err
}

func (f *far) Reserved(ctx context.Context, id string) (all []Placed, err error) {
	err = f.with(ctx, "Reserved", id, func(s *farSession) error { all = slices.Clone(s.players); return nil })
	return all, err
}

func (f *far) Terminate(ctx context.Context, id string) error {
	return f.with(ctx, "Terminate", id, func(s *farSession) error {
		if s.Status == session.Terminated || s.Status == session.Terminating {
			return &Refusal{Kind: WrongStatus, Message: "InvalidGameSessionStatusException"}
		}
		s.Status, s.endAt = session.Terminating, time.Now().Add(f.lingers)
		f.free++
		return nil
	})
}

// has reports whether there is or was a game session with these slots.
func (f *far) has(id string, slots []Placed) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	return s != nil && !slices.ContainsFunc(slots, func(p Placed) bool { return !slices.Contains(s.players, p) })
}

// live returns the game sessions that have not ended, as they are now.
func (f *far) live() []farSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []farSession
	for _, s := range f.sessions {
		if !s.now().gone() {
			now := *s
			now.players = slices.Clone(s.players)
			all = append(all, now)
		}
	}
	slices.SortFunc(all, func(a, b farSession) int { return strings.Compare(a.ID, b.ID) })
	return all
}
