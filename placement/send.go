package placement

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/session"
)

// away writes and sends attempts at remotes, and keeps what is known about their capacity.
// All that has to survive a restart is in the rows of attempts.
type away struct {
	s       *Service
	remotes Remotes
	board   *board
	nudge   wake.Nudge
	surveys wake.Nudge

	mu      sync.Mutex
	errands map[string]*errand // by token
}

func newAway(s *Service, remotes Remotes) *away {
	return &away{s: s, remotes: remotes, board: newBoard(), nudge: wake.NewNudge(), surveys: wake.NewNudge(), errands: map[string]*errand{}}
}

// Pauses of the sender: between looks at a game session that is being activated, and after
// requests without an answer.
const (
	firstLook, longestLook   = 50 * time.Millisecond, time.Second
	firstAgain, longestAgain = 100 * time.Millisecond, 5 * time.Second
	longestEnding            = time.Minute

	mostDenied = 3
)

// errand is what this node remembers of an attempt. After a restart or takeover it knows
// nothing, and then everything may have been sent.
type errand struct {
	running bool
	at      time.Time // when to go on
	failed  int       // requests in a row without an answer
	looks   int       // at the game session, in a row
	denied  int       // times that an ACTIVE game session refused all players
	doubt   bool      // a request to create the game session had no answer
	unsure  bool      // slots may have been reserved that are not in placed
	placed  []Placed
	session RemoteSession // as last seen
}

// fresh records that this node wrote an attempt and has sent nothing of it.
func (w *away) fresh(token string) {
	w.mu.Lock()
	if w.errands[token] == nil {
		w.errands[token] = &errand{}
	}
	w.mu.Unlock()
	w.nudge.Send()
}

// Run sends attempts until ctx is done, and waits for the requests in flight.
func (w *away) Run(ctx context.Context) {
	var running sync.WaitGroup
	wake.Run(ctx, w.nudge, func(ctx context.Context) time.Time { return w.look(ctx, &running) })
	running.Wait()
}

// look begins what is due for each attempt, and returns when the next is.
func (w *away) look(ctx context.Context, running *sync.WaitGroup) (next time.Time) {
	view, now := w.s.st.View(), time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for token, e := range w.errands {
		if !e.running && w.s.t.attempts.Get(view, token) == nil {
			delete(w.errands, token)
			w.board.over(token)
		}
	}
	for a := range w.s.t.attempts.All(view) {
		e := w.errands[a.Token]
		if e == nil {
			e = &errand{doubt: true, unsure: true}
			w.errands[a.Token] = e
		}
		switch {
		case e.running:
		case e.at.After(now):
			next = wake.Earliest(next, e.at)
		default:
			e.running = true
			running.Go(func() { w.run(ctx, *a, e) })
		}
	}
	return next
}

// run takes one step of an attempt.
func (w *away) run(ctx context.Context, a Attempt, e *errand) {
	wait := w.step(ctx, a, e)
	w.mu.Lock()
	e.running, e.at = false, time.Now().Add(wait)
	w.mu.Unlock()
	w.nudge.Send()
}

// step sends what the status of an attempt requires next, commits the answer, and returns
// how long to wait before the next step.
func (w *away) step(ctx context.Context, a Attempt, e *errand) time.Duration {
	x, wait, known := Answer{}, longestAgain, false
	if r := w.remotes.named(a.Place.Remote); r != nil {
		x, wait, known = w.ask(ctx, r, a, e)
	}
	if a.Status == Ending && !known && !time.Now().Before(a.GiveUp) {
		x, known = Answer{Gone: true}, true
	}
	if !known {
		return wait
	}
	x.Token = a.Token
	if err := w.s.cmd.answer.Do(ctx, x); err != nil {
		return afterError
	}
	switch {
	case a.Status == Sending && x.Refusal != nil:
		w.board.refused(a.Place, x.Refusal)
	case a.Status == Sending:
		w.board.created(a.Token)
	}
	return wait
}

// ask sends the next requests. If known, the answer has to be committed.
func (w *away) ask(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, wait time.Duration, known bool) {
	var err error
	switch a.Status {
	case Sending:
		x, known, err = w.create(ctx, r, a, e)
	case Created:
		x, wait, known, err = w.await(ctx, r, a, e)
	case Ending:
		x, wait, known, err = end(ctx, r, a, e)
	}
	if err == nil {
		e.failed = 0
		if !known && wait == 0 {
			wait = firstAgain
		}
		return x, wait, known
	}
	most := longestAgain
	if a.Status == Ending {
		most = longestEnding
	}
	wait = backoff(firstAgain, most, e.failed)
	e.failed++
	return x, wait, known
}

// create creates the game session, or finds out what became of an earlier request.
func (w *away) create(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, known bool, err error) {
	view := w.s.st.View()
	p, request := w.s.t.placements.Get(view, a.PlacementID), w.s.t.requests.Get(view, a.PlacementID)
	if p == nil || request == nil || p.Attempt != a.Token {
		return x, false, nil // its placement has ended since, and the row says so by now
	}
	made, err := r.Create(ctx, a.Place, a.Token, request)
	no := RefusalOf(err)
	switch {
	case err == nil:
		e.session, e.unsure = made, e.doubt
		return Answer{Session: made}, true, nil
	case no == nil:
		e.doubt = true
		return x, false, err
	case !e.doubt:
		return Answer{Refusal: no}, true, nil
	case no.Kind == Unreachable || no.Kind == Throttled: // says nothing about the request before it
		return x, false, err
	}
	made, found := r.Find(ctx, a.Place, a.Token)
	switch missing := RefusalOf(found); {
	case found == nil:
		e.session = made
		return Answer{Session: made}, true, nil
	case missing != nil && missing.Kind == Missing:
		return Answer{Refusal: no, Doubt: true}, true, nil
	}
	return x, false, found
}

// await waits until the game session is ACTIVE, and reserves the players' slots.
func (w *away) await(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, wait time.Duration, known bool, err error) {
	if e.session.ID != a.Session.ID || e.session.Status != session.Active {
		e.session, err = r.Describe(ctx, a.Session.ID)
		if no := RefusalOf(err); no != nil && no.Kind == Missing {
			return Answer{Gone: true}, 0, true, nil
		}
		if err != nil {
			return x, 0, false, err
		}
	}
	switch {
	case e.session.ended():
		return Answer{Session: e.session}, 0, true, nil
	case e.session.Status != session.Active:
		e.looks++
		return x, backoff(firstLook, longestLook, e.looks-1), false, nil
	}
	request := w.s.t.requests.Get(w.s.st.View(), a.PlacementID)
	if request == nil {
		return x, longestLook, false, nil // its placement has ended since
	}
	if err = reserve(ctx, r, a.Session.ID, request.Players, e); err == nil {
		return Answer{Session: e.session, Ready: true, Placed: e.placed}, 0, true, nil
	}
	switch no := RefusalOf(err); {
	case no == nil, no.Kind == Unreachable, no.Kind == Throttled:
		return x, 0, false, err
	case no.Kind == Missing || no.Kind == WrongStatus && e.denied < mostDenied:
		e.denied++
		e.session = RemoteSession{} // look again: it may have ended
		return x, 0, false, err
	default:
		return Answer{Refusal: no}, 0, true, nil
	}
}

// reserve reserves the slots of the players who have none yet.
func reserve(ctx context.Context, r Remote, gameSessionID string, players []session.Joining, e *errand) error {
	if e.unsure && len(players) > 0 {
		there, err := r.Reserved(ctx, gameSessionID)
		if err != nil {
			return err
		}
		e.placed = slices.DeleteFunc(there, func(p Placed) bool {
			return !slices.ContainsFunc(players, func(j session.Joining) bool { return j.PlayerID == p.PlayerID })
		})
		e.unsure = false
	}
	missing := slices.DeleteFunc(slices.Clone(players), func(j session.Joining) bool {
		return slices.ContainsFunc(e.placed, func(p Placed) bool { return p.PlayerID == j.PlayerID })
	})
	for some := range slices.Chunk(missing, MaxReserved) {
		made, err := r.Reserve(ctx, gameSessionID, some)
		if err != nil {
			e.unsure = RefusalOf(err) == nil
			return err
		}
		e.placed = append(e.placed, made...)
	}
	return nil
}

// end ends whatever there is of an attempt.
func end(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, wait time.Duration, known bool, err error) {
	if a.Session.ID == "" {
		made, err := r.Find(ctx, a.Place, a.Token)
		switch no := RefusalOf(err); {
		case err == nil:
			return Answer{Session: made}, 0, true, nil
		case no == nil || no.Kind != Missing:
			return x, 0, false, err
		case !time.Now().Before(a.LateUntil):
			return Answer{Gone: true}, 0, true, nil
		}
		e.looks++
		return x, min(backoff(firstAgain, longestEnding, e.looks-1), time.Until(a.LateUntil)), false, nil
	}
	err = r.Terminate(ctx, a.Session.ID)
	switch no := RefusalOf(err); {
	case err == nil, no != nil && no.Kind == Missing:
		return Answer{Gone: true}, 0, true, nil
	case no == nil || no.Kind != WrongStatus:
		return x, 0, false, err
	}
	now, failed := r.Describe(ctx, a.Session.ID)
	if failed == nil && now.ended() {
		return Answer{Gone: true}, 0, true, nil
	}
	return x, 0, false, err
}
