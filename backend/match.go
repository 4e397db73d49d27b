package backend

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

func (rq *request) startMatchmaking() (answer, error) {
	in, err := decode[protocol.TicketRequest](rq)
	if err != nil {
		return answer{}, err
	}
	if err := rq.limit(rq.b.rates.ticket, rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	t, err := rq.b.start(rq.http.Context(), rq.player.PlayerID, rq.player.Scope, &in)
	if err != nil {
		return answer{}, err
	}
	rq.w.Header().Set("Location", protocol.Base+"/matchmaking/tickets/"+t.ID)
	return answer{status: http.StatusCreated, body: t.out(rq.player.PlayerID), etag: quoted(t.Seq)}, nil
}

// start requests a match: it writes the row first, then calls the matchmaker.
func (b *Backend) start(ctx context.Context, player, scope string, in *protocol.TicketRequest) (*Ticket, error) {
	m, err := find(b.matchmakers(), func(m *Matchmaker) bool { return m.Name == in.Matchmaker }, "matchmaker", in.Matchmaker)
	if err != nil {
		return nil, err
	}
	_, known := b.matching.Configuration(m.Configuration)
	switch {
	case !known:
		return nil, refuse("not-found", "there is no matchmaker "+in.Matchmaker+" at the moment")
	case !allows(m.Scopes, scope):
		return nil, refuse("scope-insufficient", "link an account elsewhere to be matched by "+m.Name)
	}
	all, agreed, err := b.whoIsMatched(m, player, in)
	if err != nil {
		return nil, err
	}
	ticket := Ticket{Matchmaker: m.Name, Configuration: m.Configuration, PartyID: in.PartyID}
	for _, p := range all {
		ticket.Players = append(ticket.Players, p.ID)
	}
	ctx, stop := finishing(ctx)
	defer stop()
	t, err := b.cmd.open.Do(ctx, openArgs{ticket, agreed})
	if err != nil {
		return nil, err
	}
	err = b.matching.Start(ctx, MatchRequest{TicketID: t.ID, Configuration: m.Configuration, Players: all})
	if err != nil {
		if decided(err) {
			b.refused(ctx, t)
		}
		return nil, err
	}
	return b.look(ctx, t), nil
}

// refused ends a ticket that the matchmaker refused.
func (b *Backend) refused(ctx context.Context, t *Ticket) {
	f := t.Found
	f.State, f.Reason = protocol.TicketStateFailed, "Rejected"
	if _, err := b.cmd.observe.Do(ctx, []observation{{t.ID, f}}); err != nil {
		b.log.Error("ticket that was refused not ended; the watcher will", "ticket_id", t.ID, "error", err)
	}
}

// whoIsMatched returns the players of a ticket: the requesting one, or the party, with
// the party's change at which its members agreed.
func (b *Backend) whoIsMatched(m *Matchmaker, player string, in *protocol.TicketRequest) (all []MatchPlayer, agreed string, err error) {
	if in.Team != "" {
		return nil, "", refuse("invalid-parameter", "team: "+m.Name+" does not let players choose")
	}
	if in.PartyID != "" {
		return b.partyPlayers(m, player, in)
	}
	if m.MinParty > 1 {
		return nil, "", refuse("validation-failed", "party_id: "+m.Name+" matches parties of "+strconv.Itoa(m.MinParty)+" or more")
	}
	p, err := b.matchPlayer(m, player, in.Attributes, in.LatencyMs)
	return []MatchPlayer{p}, "", err
}

func (b *Backend) matchPlayer(m *Matchmaker, player string, sent map[string]protocol.JSON, latency map[string]float64) (MatchPlayer, error) {
	attributes, err := b.attributes(m, player, sent)
	if err != nil {
		return MatchPlayer{}, err
	}
	ms, err := b.latencyOf(player, latency, m)
	return MatchPlayer{ID: player, Attributes: attributes, Latency: ms}, err
}

// ticket returns a ticket of the requesting player; another player's is not found.
func (rq *request) ticket() (*Ticket, error) {
	return rq.b.ticketOf(rq.player.PlayerID, rq.param("ticket"))
}

func (b *Backend) ticketOf(player, id string) (*Ticket, error) {
	t := b.t.tickets.Get(b.st.View(), id)
	if t == nil || !t.of(player) {
		return nil, refuse("not-found", "you have no ticket "+id)
	}
	return t, nil
}

func (rq *request) tickets() (answer, error) {
	active := rq.http.URL.Query().Get("active") == "true"
	out := &protocol.Tickets{Items: []protocol.Ticket{}}
	for t := range rq.b.t.ticketsOf.Equal(rq.b.st.View(), rq.player.PlayerID) {
		if !active || !over(t.Found.State) {
			out.Items = append(out.Items, *t.out(rq.player.PlayerID))
		}
	}
	slices.Reverse(out.Items) // ids increase with time
	return ok(out)
}

func (rq *request) getTicket() (answer, error) {
	player := rq.player.PlayerID
	return rq.poll(func() (body any, seq int64, ended bool, err error) {
		t, err := rq.ticket()
		if err != nil {
			return nil, 0, false, err
		}
		return t.out(player), t.Seq, over(t.Found.State), nil
	})
}

// advisedPoll is how often to send requests without a long poll.
const advisedPoll = 2 * time.Second

// poll answers immediately if the client's ETag is not the current one, and otherwise
// waits for a change as long as the client requested.
func (rq *request) poll(look func() (body any, seq int64, ended bool, err error)) (answer, error) {
	if err := rq.limit(rq.b.rates.message, "poll "+rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	wait, err := rq.wait()
	if err != nil {
		return answer{}, err
	}
	body, seq, ended, err := look()
	changed := func() bool {
		if err == nil && rq.has(quoted(seq)) && !ended {
			if _, err = rq.b.ids.Tokens.Check(bearer(rq.http)); err == nil { // the login may have ended in the meantime
				body, seq, ended, err = look()
			}
		}
		return err != nil || !rq.has(quoted(seq)) || ended
	}
	if rq.http.Header.Get("If-None-Match") == "" { // a client without a version is answered immediately
		wait = 0
	}
	if waiting := rq.b.await(rq.http.Context(), rq.player.PlayerID, wait, changed); waiting != nil {
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

func (rq *request) wait() (time.Duration, error) {
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

func (rq *request) stopMatchmaking() (answer, error) {
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	t, err := rq.ticket()
	if err != nil {
		return answer{}, err
	}
	t, err = rq.b.cancel(rq.http.Context(), t)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: t.out(rq.player.PlayerID), etag: quoted(t.Seq)}, nil
}

// cancel tells the matchmaker to cancel; a ticket that it cannot cancel stays as it is.
func (b *Backend) cancel(ctx context.Context, t *Ticket) (*Ticket, error) {
	if over(t.Found.State) {
		return t, nil
	}
	err := b.matching.Stop(ctx, t.ID)
	now := b.look(ctx, t)
	switch {
	case err == nil || over(now.Found.State):
		return now, nil
	case fault.Is(err, fault.InvalidRequest):
		return nil, refuse("ticket-ended", "the ticket is "+string(now.Found.State)+" and cannot be cancelled any more")
	}
	return nil, err
}

func (rq *request) acceptMatch() (answer, error) {
	in, err := decode[protocol.AcceptRequest](rq)
	if err != nil {
		return answer{}, err
	}
	if err := rq.limit(rq.b.rates.message, "accept "+rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	t, err := rq.ticket()
	if err != nil {
		return answer{}, err
	}
	t, err = rq.b.reply(rq.http.Context(), t, rq.player.PlayerID, in.Accept)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: t.out(rq.player.PlayerID), etag: quoted(t.Seq)}, nil
}

// reply answers a proposed match for one player.
func (b *Backend) reply(ctx context.Context, t *Ticket, player string, accept bool) (*Ticket, error) {
	err := b.matching.Answer(ctx, t.ID, player, accept)
	if fault.Is(err, fault.InvalidRequest) || fault.Is(err, fault.NotFound) {
		return nil, refuse("not-awaiting-acceptance", "no proposed match of this ticket waits for an answer")
	}
	if err != nil {
		return nil, err
	}
	return b.look(ctx, t), nil
}
