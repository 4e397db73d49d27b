package placement

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
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
	due     queued             // the errands that do not run, by when to go on
	unread  bool               // there may be attempts without an errand
}

func newAway(s *Service, remotes Remotes) *away {
	w := &away{s: s, remotes: remotes, board: newBoard(), nudge: wake.NewNudge(), surveys: wake.NewNudge(), errands: map[string]*errand{}, unread: true}
	s.st.OnReload(w.reread)
	return w
}

// Pauses of the sender: between looks at a game session that is being activated, and after
// requests without an answer.
const (
	firstLook, longestLook   = 50 * time.Millisecond, time.Second
	firstAgain, longestAgain = 100 * time.Millisecond, 5 * time.Second
	longestEnding            = time.Minute

	mostDenied = 3

	// mostUnanswered is how many requests to create a game session may have no answer before
	// the remote is asked for it by its token, and longestSilence how long a remote may answer
	// nothing at all before its placement goes elsewhere.
	mostUnanswered = 3
	longestSilence = 30 * time.Second
)

// errand is what this node remembers of an attempt. After a restart or takeover it knows
// nothing, and then everything may have been sent.
type errand struct {
	token   string
	running bool
	hasty   bool      // while running: to go on at once
	at      time.Time // when to go on
	failed  int       // requests in a row without an answer
	since   time.Time // when the remote was first silent, of those
	looks   int       // at the game session, in a row
	denied  int       // times that an ACTIVE game session refused all players
	doubt   bool      // there may be a game session: a request to create it had no answer, or one that may not be durable
	unsure  bool      // slots may have been reserved that are not in placed
	placed  []Placed
	session RemoteSession // as last seen
}

// queued orders errands by when to go on. It implements heap.Interface.
type queued []turn

// turn is when to go on with an errand, unless that was changed since.
type turn struct {
	at time.Time
	e  *errand
}

func (q queued) Len() int           { return len(q) }
func (q queued) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queued) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queued) Push(x any)        { *q = append(*q, x.(turn)) }
func (q *queued) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = turn{}
	*q = (*q)[:last]
	return x
}

// plan sets when to go on with an errand. w.mu must be held.
func (w *away) plan(e *errand, at time.Time) {
	e.at = at
	heap.Push(&w.due, turn{at, e})
}

// begin adds the errand of an attempt unless there is one. w.mu must be held.
func (w *away) begin(token string, e *errand) {
	if w.errands[token] == nil {
		e.token = token
		w.errands[token] = e
		w.plan(e, time.Now())
	}
}

// fresh records that this node wrote an attempt and has sent nothing of it.
func (w *away) fresh(token string) {
	w.mu.Lock()
	w.begin(token, &errand{})
	w.mu.Unlock()
	w.nudge.Send()
}

// hasten makes the sender go on with an attempt at once: its row has changed.
func (w *away) hasten(token string) {
	w.mu.Lock()
	switch e := w.errands[token]; {
	case e == nil:
		w.unread = true
	case e.running:
		e.hasty = true
	default:
		w.plan(e, time.Now())
	}
	w.mu.Unlock()
	w.nudge.Send()
}

// reread makes the sender read all attempts: which there are is not known any more.
func (w *away) reread() {
	w.mu.Lock()
	w.unread = true
	w.mu.Unlock()
	w.nudge.Send()
}

// Run sends attempts until ctx is done, and waits for the requests in flight.
func (w *away) Run(ctx context.Context) {
	var running sync.WaitGroup
	wake.Run(ctx, w.nudge, func(ctx context.Context) time.Time { return w.look(ctx, &running) })
	running.Wait()
}

// look begins what is due, and returns when the next is.
func (w *away) look(ctx context.Context, running *sync.WaitGroup) (next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	view, now := w.s.st.View(), time.Now()
	if w.unread {
		w.unread = false
		for a := range w.s.t.attempts.All(view) {
			w.begin(a.Token, &errand{doubt: true, unsure: true})
		}
	}
	for len(w.due) > 0 {
		if w.due[0].at.After(now) {
			return w.due[0].at
		}
		first := heap.Pop(&w.due).(turn)
		e := first.e
		if e.running || !e.at.Equal(first.at) || w.errands[e.token] != e {
			continue
		}
		a := w.s.t.attempts.Get(view, e.token)
		if a == nil {
			w.over(e)
			continue
		}
		e.running = true
		running.Go(func() { w.run(ctx, *a, e) })
	}
	return next
}

// over forgets an errand whose attempt is settled. w.mu must be held.
func (w *away) over(e *errand) {
	delete(w.errands, e.token)
	w.board.over(e.token)
}

// run takes one step of an attempt.
func (w *away) run(ctx context.Context, a Attempt, e *errand) {
	wait := w.step(ctx, a, e)
	w.mu.Lock()
	defer w.nudge.Send()
	defer w.mu.Unlock()
	if e.hasty {
		wait = 0
	}
	e.running, e.hasty = false, false
	if w.s.t.attempts.Get(w.s.st.View(), a.Token) == nil {
		w.over(e)
		return
	}
	w.plan(e, time.Now().Add(wait))
}

// step sends what the status of an attempt requires next, commits the answer, and returns
// how long to wait before the next step.
func (w *away) step(ctx context.Context, a Attempt, e *errand) time.Duration {
	ctx = w.s.opts.Tracer.Within(ctx, spanOf(a.PlacementID))
	x, wait, known := w.ask(ctx, w.remotes.named(a.Place.Remote), a, e)
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

// ask sends the next requests to a remote, nil if it is not configured any more. If known, the
// answer has to be committed.
func (w *away) ask(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, wait time.Duration, known bool) {
	var err error
	switch {
	case r == nil:
		err = errors.New("the remote is not configured any more")
	case a.Status == Sending:
		x, known, err = w.create(ctx, r, a, e)
	case a.Status == Created:
		x, wait, known, err = w.await(ctx, r, a, e)
	case a.Status == Ending:
		x, wait, known, err = end(ctx, r, a, e)
	}
	if known || err == nil {
		e.failed = 0
		if known {
			e.looks = 0
		} else if wait == 0 {
			wait = firstAgain
		}
		return x, wait, known
	}
	if no := RefusalOf(err); e.failed == 0 || no != nil && no.Kind == Throttled { // a remote that has too many requests is not silent
		e.since = time.Now()
	}
	if silent := time.Since(e.since); a.Status != Ending && silent >= longestSilence {
		e.failed = 0
		return Answer{Refusal: unanswered(fmt.Sprintf("no answer for %s: %v", silent.Round(time.Second), err)), Doubt: true}, 0, true
	}
	most := longestAgain
	if a.Status == Ending {
		most = longestEnding
	}
	wait = backoff(firstAgain, most, e.failed)
	e.failed++
	return x, wait, known
}

// unanswered returns the refusal that stands for answers that did not come.
func unanswered(why string) *Refusal { return &Refusal{Kind: Unreachable, Message: why} }

// create creates the game session, or finds out what became of an earlier request.
func (w *away) create(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, known bool, err error) {
	view := w.s.st.View()
	p, request := w.s.t.placements.Get(view, a.PlacementID), w.s.t.requests.Get(view, a.PlacementID)
	if p == nil || request == nil || p.Attempt != a.Token {
		return x, false, nil // its placement has ended since, and the row says so by now
	}
	if e.doubt && e.failed >= mostUnanswered {
		if x, known, err = find(ctx, r, a, e, unanswered("no answer to CreateGameSession, which has made no game session so far")); err != nil || x.Session.ID != "" {
			return x, known, err
		}
	}
	made, err := r.Create(ctx, a.Place, a.Token, request)
	no := RefusalOf(err)
	switch {
	case err == nil:
		e.session, e.unsure = made, e.doubt
		e.doubt = true // until the row has it
		return Answer{Session: made}, true, nil
	case no == nil:
		e.doubt = true
		return x, known, err
	case !e.doubt:
		return Answer{Refusal: no}, true, nil
	case no.Kind == Unreachable || no.Kind == Throttled: // says nothing about the request before it
		return Answer{}, false, err
	}
	return find(ctx, r, a, e, no)
}

// find asks for what earlier requests have created. If there is nothing, the answer is a refusal
// in doubt.
func find(ctx context.Context, r Remote, a Attempt, e *errand, otherwise *Refusal) (x Answer, known bool, err error) {
	made, err := r.Find(ctx, a.Place, a.Token)
	switch missing := RefusalOf(err); {
	case err == nil:
		e.session = made
		return Answer{Session: made}, true, nil
	case missing != nil && missing.Kind == Missing:
		return Answer{Refusal: otherwise, Doubt: true}, true, nil
	}
	return x, false, err
}

// await waits until the game session is ACTIVE, and reserves the players' slots.
func (w *away) await(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, wait time.Duration, known bool, err error) {
	if e.session.ID != a.Session.ID || e.session.Status != session.Active {
		e.session, err = r.Describe(ctx, a.Session.ID)
		if no := RefusalOf(err); no != nil && no.Kind == Missing {
			return Answer{Refusal: no, Doubt: true}, 0, true, nil
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

// end ends whatever there is of an attempt. That nothing is left is certain once the remote says
// that the game session has ended, or has not known it for as long as it may appear.
func end(ctx context.Context, r Remote, a Attempt, e *errand) (x Answer, wait time.Duration, known bool, err error) {
	if a.Session.ID == "" {
		made, err := r.Find(ctx, a.Place, a.Token)
		if err == nil {
			return Answer{Session: made}, 0, true, nil
		}
		return a.absent(err, e)
	}
	err = r.Terminate(ctx, a.Session.ID)
	if no := RefusalOf(err); err != nil && (no == nil || no.Kind != WrongStatus && no.Kind != Missing) {
		return x, 0, false, err
	}
	now, err := r.Describe(ctx, a.Session.ID)
	switch {
	case err != nil:
		return a.absent(err, e)
	case now.gone():
		return Answer{Gone: true}, 0, true, nil
	}
	e.looks++
	return x, backoff(firstLook, longestEnding, e.looks-1), false, nil
}

// absent returns what an error means that may say that there is no game session of an attempt
// which is ENDING.
func (a *Attempt) absent(err error, e *errand) (x Answer, wait time.Duration, known bool, _ error) {
	if no := RefusalOf(err); no == nil || no.Kind != Missing {
		return x, 0, false, err
	}
	if !time.Now().Before(a.LateUntil) {
		return Answer{Gone: true}, 0, true, nil
	}
	e.looks++
	return x, min(backoff(firstAgain, longestEnding, e.looks-1), time.Until(a.LateUntil)), false, nil
}
