package backend

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/wake"
)

// hub wakes long polls that wait for changes of a player. A nudge only signals that
// something changed: the state is in the rows.
type hub struct {
	ids     *identity.Service
	most    Limits        // of long polls
	closing chan struct{} // closed when the server stops

	mu      sync.Mutex
	of      map[string]map[wake.Nudge]struct{} // by player
	polls   map[string][]chan struct{}         // long polls by player, the oldest first; closed to end one
	waiting atomic.Int64                       // long polls
}

func newHub(most Limits, ids *identity.Service) *hub {
	return &hub{
		ids: ids, most: most, closing: make(chan struct{}), of: map[string]map[wake.Nudge]struct{}{}, polls: map[string][]chan struct{}{},
	}
}

// begin begins a long poll of a player, and ends the oldest if there would be too many.
// over is closed to end this one; end must be called when it has ended.
func (h *hub) begin(player string) (over <-chan struct{}, end func()) {
	own := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append(h.polls[player], own)
	if len(all) > h.most.WaitsPerPlayer {
		close(all[0])
		all = all[1:]
	}
	h.polls[player] = all
	return own, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		rest := slices.DeleteFunc(h.polls[player], func(c chan struct{}) bool { return c == own })
		if h.polls[player] = rest; len(rest) == 0 {
			delete(h.polls, player)
		}
	}
}

// watch returns a Nudge that receives after the rows of a player have changed, until stop
// is called.
func (h *hub) watch(player string) (changed wake.Nudge, stop func()) {
	w := wake.NewNudge()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of[player] == nil {
		h.of[player] = map[wake.Nudge]struct{}{}
	}
	h.of[player][w] = struct{}{}
	return w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.of[player], w)
		if len(h.of[player]) == 0 {
			delete(h.of, player)
		}
	}
}

// wake never blocks: it is called while commits are published.
func (h *hub) wake(players []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, player := range players {
		for w := range h.of[player] {
			w.Send()
		}
	}
}

// Long polls.
const (
	maxWait     = 25 * time.Second // the longest that a client may request
	advisedPoll = 2 * time.Second  // how often to send requests without one
)

// poll answers immediately if the client's ETag is not the current one, and otherwise
// waits for a change as long as the client requested.
func (h *hub) poll(rq *request, look func() (body any, seq int64, ended bool, err error)) (answer, error) {
	if err := message("poll")(rq); err != nil {
		return answer{}, err
	}
	wait, err := waitOf(rq)
	if err != nil {
		return answer{}, err
	}
	body, seq, ended, err := look()
	changed := func() bool {
		if err == nil && rq.has(quoted(seq)) && !ended {
			if _, err = h.ids.Tokens.Check(bearer(rq.http)); err == nil { // the login may have ended in the meantime
				body, seq, ended, err = look()
			}
		}
		return err != nil || !rq.has(quoted(seq)) || ended
	}
	if rq.http.Header.Get("If-None-Match") == "" { // a client without a version is answered immediately
		wait = 0
	}
	if waiting := h.await(rq.context(), rq.player.PlayerID, wait, changed); waiting != nil {
		return answer{}, waiting
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{status: http.StatusOK, body: body, etag: quoted(seq)}
	if !ended && wait == 0 {
		a.wait = advisedPoll
	}
	if rq.has(quoted(seq)) {
		a.status, a.body = http.StatusNotModified, nil
	}
	return a, nil
}

func waitOf(rq *request) (time.Duration, error) {
	text := rq.http.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || time.Duration(n)*time.Second > maxWait {
		return 0, refuse("invalid-parameter", "wait: must be 0 to 25 seconds")
	}
	return time.Duration(n) * time.Second, nil
}

// await waits until changed returns true, the time has passed, the client has gone, the
// player has too many long polls or the server stops.
func (h *hub) await(ctx context.Context, player string, wait time.Duration, changed func() bool) error {
	if changed() || wait <= 0 {
		return nil
	}
	if int(h.waiting.Add(1)) > h.most.Waits {
		h.waiting.Add(-1)
		p := refuse("busy", "too many long polls at the moment; ask without wait")
		p.Wait = time.Second
		return p
	}
	defer h.waiting.Add(-1)
	over, end := h.begin(player)
	defer end()
	w, stop := h.watch(player)
	defer stop()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for !changed() {
		select {
		case <-w:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-over:
			return nil
		case <-h.closing:
			return nil
		}
	}
	return nil
}
