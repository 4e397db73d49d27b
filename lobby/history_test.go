package lobby

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
)

// TestHistories performs random actions of players, parties, operators and time. After
// each, players see what the matchmaker and the queues have, and each change was pushed to
// each player once, in order.
func TestHistories(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for seed := range uint64(60) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := &history{
						hall: newHall(t), rand: rand.New(rand.NewPCG(seed, 1)),
						cursor: map[string]string{}, pushed: map[string]pushed{}, seen: map[string]int{},
					}
					h.OnChanged(func([]string) { h.push(); h.check("a commit") })
					h.begin()
					defer h.Close()
					h.play()
					mu.Lock()
					defer mu.Unlock()
					for what, n := range h.seen {
						seen[what] += n
					}
				})
			})
		}
	})
	t.Log(seen)
	for _, what := range []string{"queued", "searching", "requires_acceptance", "placing", "completed", "failed", "cancelled", "timed_out",
		"placement pending", "placement cancelled", "placement timed_out", "accepted", "party ticket", "expelled"} {
		if seen[what] == 0 {
			t.Errorf("no history has %q", what)
		}
	}
}

// history is one random run.
type history struct {
	*hall
	rand    *rand.Rand
	players []string
	tokens  map[string]string
	seen    map[string]int

	mu     sync.Mutex
	cursor map[string]string // of each player, as a connection has it
	pushed map[string]pushed // the last push by player and row
}

// pushed is what a client was sent of a row.
type pushed struct {
	seq   int64
	shown string
}

func (h *history) play() {
	h.tokens = map[string]string{}
	for range 6 {
		h.arrive()
	}
	actions := []func(player string){
		h.start, h.start, h.start, h.answer, h.answer, h.answer, h.cancel, h.stopByOperator, h.startByOperator,
		h.inParty, h.inParty, h.place, h.cancelPlacement, h.expel, h.wait, h.wait, h.wait,
	}
	for range 120 {
		player := h.players[h.rand.IntN(len(h.players))]
		actions[h.rand.IntN(len(actions))](player)
		synctest.Wait()
		h.check("an action")
		h.upToDate()
	}
}

// arrive adds a player with an account.
func (h *history) arrive() {
	player, token := h.guest()
	h.players = append(h.players, player)
	h.tokens[player] = token
}

func (h *history) wait(string) {
	wait.Pass([]time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, 25 * time.Second, 2 * patient}[h.rand.IntN(5)])
}

func (h *history) start(player string) {
	in := MatchRequest{Matchmaker: []string{"alone", "placed", "asked", "asked"}[h.rand.IntN(4)]}
	if p := h.Parties.Of(h.st.View(), player); p != nil && h.rand.IntN(2) == 0 {
		in.Matchmaker, in.PartyID = p.Matchmaker, p.ID
		for _, member := range p.players() {
			_, err := h.Parties.Change(h.Ctx, member, p.ID, h.rand.IntN(8) > 0, nil, nil)
			h.Must(err)
		}
		player = p.Leader
	}
	if t, err := h.Tickets.Start(h.Ctx, player, "guest", in); err == nil && len(t.Players) > 1 {
		h.seen["party ticket"]++
	}
}

// open returns a player's open ticket, or nil.
func (h *history) open(player string) *Ticket {
	for t := range h.Tickets.Of(h.st.View(), player) {
		if !t.Over() {
			return t
		}
	}
	return nil
}

// answer answers for all players of a ticket: the given player's ticket, or another.
func (h *history) answer(player string) {
	asked := func(player string) bool {
		t := h.open(player)
		return t != nil && t.Found.State == RequiresAcceptance
	}
	if at := slices.IndexFunc(h.players, asked); at >= 0 && !asked(player) {
		player = h.players[at]
	}
	if !asked(player) {
		return
	}
	t := h.open(player)
	for _, member := range t.Players {
		if _, err := h.Tickets.Answer(h.Ctx, member, t.ID, h.rand.IntN(12) > 0); err == nil {
			h.seen["accepted"]++
		}
		if h.rand.IntN(3) == 0 { // the same answer again changes nothing
			_, _ = h.Tickets.Answer(h.Ctx, member, t.ID, true)
		}
	}
}

func (h *history) cancel(player string) {
	if t := h.open(player); t != nil {
		_, _ = h.Tickets.Cancel(h.Ctx, player, t.ID)
	}
}

func (h *history) stopByOperator(player string) {
	if t := h.open(player); t != nil {
		_ = h.matches.Stop(h.Ctx, t.ID)
		_, _, _ = h.queues.Stop(h.Ctx, t.Found.MatchID) // the placement of its match, which fails it
	}
}

// startByOperator requests a match without the lobby; it ends the player's own ticket.
func (h *history) startByOperator(player string) {
	_, _, err := h.matches.Start(h.Ctx, flexmatch.StartInput{Configuration: "slow", Players: []flexmatch.Player{{ID: player}}})
	h.Must(err)
}

// inParty performs a random action on the player's party.
func (h *history) inParty(player string) {
	view := h.st.View()
	p := h.Parties.Of(view, player)
	switch {
	case p == nil && h.rand.IntN(3) == 0:
		_, err := h.Parties.Create(h.Ctx, player, "asked", 3)
		h.Must(err)
	case p == nil:
		for other := range h.Parties.rows.All(view) {
			_, _ = h.Parties.Join(h.Ctx, player, other.Code)
			return
		}
	case h.rand.IntN(5) == 0:
		h.Must(h.Parties.Leave(h.Ctx, player, p.ID, player))
	default:
		_, err := h.Parties.Change(h.Ctx, player, p.ID, true, nil, nil)
		h.Must(err)
	}
}

func (h *history) place(player string) {
	_, _ = h.Placements.Start(h.Ctx, player, &Pool{Name: "empty", Queue: "empty", MaxPlayers: 2}, SessionRequest{})
}

func (h *history) cancelPlacement(player string) {
	for p := range h.Placements.Of(h.st.View(), player) {
		_, err := h.Placements.Cancel(h.Ctx, player, p.ID)
		h.Must(err)
	}
}

// expel bans or deletes a player; another one comes.
func (h *history) expel(player string) {
	if h.rand.IntN(3) > 0 {
		return
	}
	if who, err := h.ids.Tokens.Check(h.tokens[player]); err == nil && h.rand.IntN(2) == 0 {
		_ = h.ids.Accounts.Delete(h.Ctx, who) // refused if the login is old
	}
	_ = h.ids.Accounts.Ban(h.Ctx, player, "", time.Now().Add(time.Hour))
	h.seen["expelled"]++
	if h.Parties.Of(h.st.View(), player) != nil {
		h.Errorf("%s is out and in a party", player)
	}
	if t := h.open(player); t != nil && t.Found.State != Placing {
		h.Errorf("%s is out and on a ticket that is %q", player, t.Found.State)
	}
	h.players = slices.DeleteFunc(h.players, func(p string) bool { return p == player })
	h.arrive()
}

// push sends each player what has changed since the player's cursor, as a connection does.
func (h *history) push() {
	h.mu.Lock()
	defer h.mu.Unlock()
	view := h.st.View()
	for player := range h.of(view) {
		type row struct {
			change, id, shown, state string
			seq                      int64
		}
		var rows []row
		for t := range h.Tickets.Of(view, player) {
			rows = append(rows, row{t.Change, t.ID, showTicket(t), string(t.Found.State), t.Seq})
		}
		for p := range h.Placements.Of(view, player) {
			rows = append(rows, row{p.Change, p.ID, fmt.Sprint(p.Result), "placement " + string(p.Result.State), p.Seq})
		}
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.change, b.change) })
		for _, r := range rows {
			if r.change <= h.cursor[player] {
				continue
			}
			h.cursor[player] = r.change
			key := player + r.id
			if last := h.pushed[key]; r.seq <= last.seq || r.shown == last.shown {
				h.Errorf("pushed twice: %s after %+v", r.shown, last)
			}
			h.pushed[key] = pushed{r.seq, r.shown}
			h.seen[r.state]++
		}
	}
}

// of returns all players who have a row.
func (h *history) of(view store.Reader) map[string]bool {
	all := map[string]bool{}
	for t := range h.Tickets.rows.All(view) {
		maps.Insert(all, func(yield func(string, bool) bool) {
			for _, p := range t.Players {
				if !yield(p, true) {
					return
				}
			}
		})
	}
	for p := range h.Placements.rows.All(view) {
		all[p.PlayerID] = true
	}
	return all
}

// upToDate checks that each player was sent the state of each row.
func (h *history) upToDate() {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	view := h.st.View()
	for t := range h.Tickets.rows.All(view) {
		for _, player := range t.Players {
			if got := h.pushed[player+t.ID]; got.seq != t.Seq || got.shown != showTicket(t) {
				h.Errorf("%s was sent %+v, the ticket is %s", player, got, showTicket(t))
			}
		}
	}
	for p := range h.Placements.rows.All(view) {
		if got := h.pushed[p.PlayerID+p.ID]; got.seq != p.Seq || got.shown != fmt.Sprint(p.Result) {
			h.Errorf("%s was sent %+v, the placement is %+v", p.PlayerID, got, p.Result)
		}
	}
}

// check compares what players see with what the matchmaker and the queues have.
func (h *history) check(when string) {
	h.Helper()
	view := h.st.View()
	for t := range h.Tickets.rows.All(view) {
		m := h.matches.Live(view, t.ID)
		if m == nil { // it has left memory
			if !t.Over() {
				h.Errorf("after %s the ticket is %q, and the matchmaker has none", when, t.Found.State)
			}
			continue
		}
		if got, want := showTicket(t), showMatchmakers(h.matches, view, m); got != want {
			h.Errorf("after %s players see %s, the matchmaker has %s", when, got, want)
		}
	}
	for p := range h.Placements.rows.All(view) {
		at := h.queues.Live(view, p.ID)
		if at == nil && !p.Over() || at != nil && !strings.EqualFold(string(at.Status), string(p.Result.State)) {
			h.Errorf("after %s the player sees %q, the queue has %+v", when, p.Result.State, at)
		}
	}
}

// showTicket returns everything that players see of a match.
func showTicket(t *Ticket) string {
	f := &t.Found
	text := fmt.Sprint(f.State, f.MatchID, f.AcceptBy, f.SessionID, f.IP, f.DNSName, f.Port)
	for _, m := range f.Members {
		answer := ""
		if m.Accepted != nil {
			answer = fmt.Sprint(*m.Accepted)
		}
		text += fmt.Sprintf(" [%s %s %s %s]", m.PlayerID, m.Team, answer, m.PlayerSessionID)
	}
	return text
}

// showMatchmakers returns the same for the matchmaker's ticket.
func showMatchmakers(s *flexmatch.Service, r store.Reader, t *flexmatch.Ticket) string {
	match, acceptBy := t.MatchID, time.Time{}
	switch t.Status {
	case "QUEUED", "SEARCHING":
		match = ""
	case flexmatch.RequiresAcceptance:
		acceptBy = s.AcceptBy(r, t.MatchID)
	}
	text := fmt.Sprint(State(strings.ToLower(string(t.Status))), match, acceptBy, t.GameSessionID, t.IPAddress, t.DNSName, t.Port)
	for _, m := range t.Members {
		answer := map[flexmatch.Answer]string{flexmatch.Accept: "true", flexmatch.Reject: "false"}[m.Answer]
		text += fmt.Sprintf(" [%s %s %s %s]", m.PlayerID, m.Team, answer, m.PlayerSessionID)
	}
	return text
}
