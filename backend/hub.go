package backend

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// hub wakes what waits for changes of a player. A nudge only says that something
// changed: the state is in the rows.
type hub struct {
	mu      sync.Mutex
	of      map[string]map[*watcher]struct{} // by player
	polls   map[string][]chan struct{}       // long polls by player, the oldest first; closed to end one
	waiting atomic.Int64                     // long polls
}

// watcher is woken after the rows of its player have changed.
type watcher struct{ nudge chan struct{} }

func newHub() *hub {
	return &hub{of: map[string]map[*watcher]struct{}{}, polls: map[string][]chan struct{}{}}
}

// poll begins a long poll of a player, and ends the oldest if there would be more than
// most. over is closed to end this one; end must be called when it has ended.
func (h *hub) poll(player string, most int) (over <-chan struct{}, end func()) {
	own := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append(h.polls[player], own)
	if len(all) > most {
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

// watch begins to watch a player; the returned function ends that.
func (h *hub) watch(player string) (*watcher, func()) {
	w := &watcher{nudge: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of[player] == nil {
		h.of[player] = map[*watcher]struct{}{}
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
			select {
			case w.nudge <- struct{}{}:
			default:
			}
		}
	}
}

// maxWait is the longest wait that a long poll may request.
const maxWait = 25 * time.Second

// await waits until changed returns true, the time has passed, the client has gone, the
// player has too many long polls or the server stops.
func (b *Backend) await(ctx context.Context, player string, wait time.Duration, changed func() bool) error {
	if changed() || wait <= 0 {
		return nil
	}
	if int(b.hub.waiting.Add(1)) > b.Limits.Waits {
		b.hub.waiting.Add(-1)
		p := refuse("busy", "too many long polls at the moment; ask without wait")
		p.wait = time.Second
		return p
	}
	defer b.hub.waiting.Add(-1)
	over, end := b.hub.poll(player, b.Limits.WaitsPerPlayer)
	defer end()
	w, stop := b.hub.watch(player)
	defer stop()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for !changed() {
		select {
		case <-w.nudge:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-over:
			return nil
		case <-b.closing:
			return nil
		}
	}
	return nil
}
