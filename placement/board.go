package placement

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wake"
)

// Board is what is known of destinations at remotes, by ARN. It has every such destination
// of the queues.
type Board map[string]*Known

// Known is what is known of a destination at a remote. It is immutable.
type Known struct {
	Survey
	Remote   string    `json:"remote"`
	Neighbor bool      `json:"neighbor,omitzero"` // the remote is another region of this deployment
	Awaited  bool      `json:"awaited,omitzero"`  // placements wait for its first answer, or a failure to get one
	At       time.Time `json:"at,omitzero"`       // of the survey
	Why      string    `json:"why,omitzero"`      // if Outcome is RemoteAway
}

// boardArgs are the arguments of commands that record rounds: what this node knows of
// remotes is not part of the state.
type boardArgs struct {
	Away Board `json:"away,omitzero"`
}

const (
	idleFactor   = 6  // how many times less often a destination is surveyed for which nothing waits
	awayFactor   = 12 // how many times less often one that does not answer is surveyed, at most
	longestAway  = time.Minute
	surveysTick  = time.Second // at most; see often
	notAskedText = "it has not answered yet what is free"
)

// board keeps the surveys of this node.
type board struct {
	mu    sync.Mutex
	known map[string]*surveyed
	taken map[string]*taken // by the token of the attempt
}

// taken is a process that an attempt takes, which a survey may not have seen.
type taken struct {
	at      Place
	created time.Time // when the remote had answered; zero until then
}

// surveyed is a destination and when it is surveyed next.
type surveyed struct {
	*Known
	running bool
	due     time.Time
	failed  int                 // surveys in a row
	wakes   map[string]wakeCall // what a neighbor is asked to wake before the next survey, by location
}

// wakeCall is a location to wake, and for what.
type wakeCall struct {
	at  Place
	why string
}

func newBoard() *board { return &board{known: map[string]*surveyed{}, taken: map[string]*taken{}} }

// of returns the entry of a destination. b.mu must be held.
func (b *board) of(r Remote, destination string) *surveyed {
	d := b.known[destination]
	if d == nil || d.Remote != r.Name() {
		d = &surveyed{Known: &Known{Remote: r.Name(), Neighbor: neighborly(r), Awaited: neighborly(r), Why: notAskedText, Survey: Survey{Outcome: RemoteAway}}}
		b.known[destination] = d
	}
	return d
}

// change replaces what is known of the destinations that lead to a fleet of a remote.
// b.mu must be held.
func (b *board) change(at Place, f func(*Known)) {
	for _, d := range b.known {
		if d.Remote != at.Remote || d.FleetID != at.FleetID {
			continue
		}
		k := *d.Known
		k.Places = append([]RemotePlace(nil), k.Places...)
		f(&k)
		d.Known = &k
	}
}

// take counts a process at a place as taken by an attempt.
func (b *board) take(at Place, token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken[token] = &taken{at: at}
	b.change(at, func(k *Known) { k.less(at.Location) })
}

// at returns what is known of a location, or nil.
func (k *Known) at(location string) *RemotePlace {
	for i := range k.Places {
		if k.Places[i].Location == location {
			return &k.Places[i]
		}
	}
	return nil
}

// asleep reports whether a place is one of another region that is scaled to zero.
func (b Board) asleep(at Place) bool {
	for _, k := range b {
		if k.Neighbor && k.Remote == at.Remote && k.FleetID == at.FleetID {
			if l := k.at(at.Location); l != nil && l.Asleep {
				return true
			}
		}
	}
	return false
}

// less counts one free process less.
func (k *Known) less(location string) {
	if l := k.at(location); l != nil && l.Free > 0 {
		l.Free--
	}
}

// created records that the remote has a game session for an attempt.
func (b *board) created(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.taken[token]; t != nil {
		t.created = time.Now()
		b.prune(t.at.Remote)
	}
}

// over forgets an attempt that is settled.
func (b *board) over(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.taken[token]; t != nil && t.created.IsZero() {
		delete(b.taken, token)
	}
}

// prune forgets the attempts for which a remote has a game session, unless a survey of it that
// may not have seen that is under way. b.mu must be held.
func (b *board) prune(remote string) {
	for _, d := range b.known {
		if d.Remote == remote && d.running {
			return
		}
	}
	maps.DeleteFunc(b.taken, func(_ string, t *taken) bool { return t.at.Remote == remote && !t.created.IsZero() })
}

// since counts the processes of a fleet that a survey which began at a time may not have
// seen as taken. b.mu must be held.
func (b *board) since(k *Known, began time.Time) {
	for _, t := range b.taken {
		if t.at.Remote == k.Remote && t.at.FleetID == k.FleetID && (t.created.IsZero() || !t.created.Before(began)) {
			k.less(t.at.Location)
		}
	}
}

// refused excludes what a refusal of an attempt is about, until the next survey: the location if
// it is full or unknown, otherwise the fleet. A refusal of the request is about neither.
func (b *board) refused(at Place, no *Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(at, func(k *Known) {
		l := k.at(at.Location)
		switch {
		case no.Kind == Refused:
		case no.Kind == Full && l != nil:
			l.Free = 0
		case no.Kind == Missing && l != nil:
			l.Why = no.Message
		default:
			k.Outcome, k.Why = RemoteAway, no.Message
		}
	})
}

// known returns what is known of the destinations at remotes of all queues; nil if no
// remotes are configured.
func (w *away) known(r store.Reader) Board {
	if len(w.remotes) == 0 {
		return nil
	}
	all := Board{}
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	for q := range w.s.t.queues.All(r) {
		for _, destination := range q.Destinations {
			if remote := w.s.Queues.remoteOf(destination); remote != nil {
				all[destination] = w.board.of(remote, destination).Known
			}
		}
	}
	return all
}

// survey asks remotes for their capacity until ctx is done.
func (w *away) survey(ctx context.Context) {
	if len(w.remotes) == 0 {
		return
	}
	var running sync.WaitGroup
	wake.Run(ctx, w.surveys, func(ctx context.Context) time.Time {
		w.askDue(ctx, &running)
		return time.Now().Add(w.often())
	})
	running.Wait()
}

// often returns how often to look which surveys are due.
func (w *away) often() time.Duration {
	tick := surveysTick
	for _, r := range w.remotes {
		tick = min(tick, r.Poll())
	}
	return tick
}

// askDue begins the surveys that are due.
func (w *away) askDue(ctx context.Context, running *sync.WaitGroup) {
	view, now := w.s.st.View(), time.Now()
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	used := map[string]bool{}
	for q := range w.s.t.queues.All(view) {
		busy := w.s.t.pending.First(view, store.Key(q.Name)) != nil
		for _, destination := range q.Destinations {
			r := w.s.Queues.remoteOf(destination)
			if r == nil {
				continue
			}
			used[destination] = true
			d := w.board.of(r, destination)
			if d.due.IsZero() || !now.Before(d.due) || len(d.wakes) > 0 && d.failed == 0 || busy && d.failed == 0 && now.Sub(d.At) >= r.Poll() {
				w.askOne(ctx, running, r, destination, d)
			}
		}
	}
	for destination, d := range w.board.known {
		if !used[destination] && !d.running {
			delete(w.board.known, destination)
		}
	}
}

// askOne surveys a destination, unless that is being done. w.board.mu must be held.
func (w *away) askOne(ctx context.Context, running *sync.WaitGroup, r Remote, destination string, d *surveyed) {
	if d.running {
		return
	}
	d.running = true
	wakes := d.wakes
	d.wakes = nil
	running.Go(func() {
		began := time.Now()
		found, err := surveyAwake(ctx, r, destination, wakes)
		if ctx.Err() != nil {
			return
		}
		w.board.mu.Lock()
		d.running = false
		before := d.Known
		if err != nil {
			d.wakeAgain(wakes)
		}
		if d.note(found, err, r, time.Now()); err == nil {
			w.board.since(d.Known, began)
		}
		w.board.prune(r.Name())
		changed := before.Awaited || before.Outcome != d.Outcome || d.Outcome == ""
		w.board.mu.Unlock()
		if changed {
			w.s.Nudge()
		}
	})
}

// surveyAwake surveys a destination once its locations to wake are awake.
func surveyAwake(ctx context.Context, r Remote, destination string, wakes map[string]wakeCall) (found Survey, err error) {
	for _, call := range wakes {
		if err := r.(Neighbor).Wake(ctx, call.at, call.why); err != nil { // only of neighbors are there such calls
			return found, err
		}
	}
	return r.Survey(ctx, destination)
}

// wakeAgain has locations woken before the next survey, besides those that are to be by now.
func (d *surveyed) wakeAgain(wakes map[string]wakeCall) {
	for location, call := range wakes {
		if _, newer := d.wakes[location]; !newer {
			d.wake(location, call)
		}
	}
}

func (d *surveyed) wake(location string, call wakeCall) {
	if d.wakes == nil {
		d.wakes = map[string]wakeCall{}
	}
	d.wakes[location] = call
}

// wake has a location of a neighbor woken, at once if that answers.
func (w *away) wake(at Place, why string) {
	w.board.mu.Lock()
	for _, d := range w.board.known {
		if d.Neighbor && d.Remote == at.Remote && d.FleetID == at.FleetID {
			d.wake(at.Location, wakeCall{at, why})
		}
	}
	w.board.mu.Unlock()
	w.surveys.Send()
}

// note records the result of a survey, and when the next one is due.
func (d *surveyed) note(found Survey, err error, r Remote, now time.Time) {
	if err == nil {
		d.Known, d.failed = &Known{Survey: found, Remote: r.Name(), Neighbor: neighborly(r), At: now}, 0
		d.due = now.Add(idleFactor * r.Poll())
		return
	}
	k := *d.Known
	k.Awaited = false
	d.due = now.Add(backoff(r.Poll(), min(longestAway, awayFactor*r.Poll()), d.failed))
	d.failed++
	if no := RefusalOf(err); no == nil || no.Kind != Throttled || k.Outcome != "" { // a throttled survey changes nothing that was known
		k.Outcome, k.Why = RemoteAway, err.Error()
	}
	d.Known = &k
}
