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

// hub wakes long polls that wait for changes of a player. Waking only signals that
// something changed: the state is in the rows.
type hub struct {
	ids     *identity.Service
	most    Limits        // of long polls
	closing chan struct{} // closed when the server stops

	mu      sync.Mutex
	of      map[string][]*poll // by player, the oldest first
	waiting atomic.Int64       // all of them
}

// poll is a long poll.
type poll struct {
	changed wake.Nudge    // receives after the rows of its player have changed
	over    chan struct{} // closed to end it
}

func newHub(most Limits, ids *identity.Service) *hub {
	return &hub{ids: ids, most: most, closing: make(chan struct{}), of: map[string][]*poll{}}
}

// begin begins a long poll of a player, and ends the oldest if there would be too many.
func (h *hub) begin(player string) *poll {
	p := &poll{wake.NewNudge(), make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append(h.of[player], p)
	if len(all) > h.most.WaitsPerPlayer {
		close(all[0].over)
		all = all[1:]
	}
	h.of[player] = all
	return p
}

func (h *hub) end(player string, p *poll) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := slices.DeleteFunc(h.of[player], func(q *poll) bool { return q == p })
	if h.of[player] = rest; len(rest) == 0 {
		delete(h.of, player)
	}
}

// wake never blocks: it is called while commits are published.
func (h *hub) wake(players []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, player := range players {
		for _, p := range h.of[player] {
			p.changed.Send()
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
		r := refuse("busy", "too many long polls at the moment; ask without wait")
		r.Wait = time.Second
		return r
	}
	defer h.waiting.Add(-1)
	p := h.begin(player)
	defer h.end(player, p)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for !changed() {
		select {
		case <-p.changed:
		case <-ctx.Done():
			return nil
		case <-p.over:
			return nil
		case <-h.closing:
			return nil
		}
	}
	return nil
}
