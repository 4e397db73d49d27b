package backend

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/sdk/session/player/protocol"
	"github.com/musterhq/muster/session"
)

// Placing is a player's request for a game session of their own.
type Placing struct {
	ID       string    `json:"id"` // of the placement too
	Pool     string    `json:"pool"`
	PlayerID string    `json:"player_id"`
	Seen     Placed    `json:"seen"`
	Seq      int64     `json:"seq"`
	Change   string    `json:"change"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`           // set if it has ended
	Expelled bool      `json:"expelled,omitzero"` // the player was banned or deleted: to be stopped
}

// Placed is what placement reports of it.
type Placed struct {
	State           protocol.PlacementState `json:"state"`
	Reason          string                  `json:"reason,omitzero"`
	SessionID       string                  `json:"session_id,omitzero"`
	IP              string                  `json:"ip,omitzero"`
	DNSName         string                  `json:"dns_name,omitzero"`
	Port            int                     `json:"port,omitzero"`
	PlayerSessionID string                  `json:"player_session_id,omitzero"`
}

const (
	placingKept = time.Hour // after its end, and until it has one
	mostPending = 2         // of one player at a time
)

func (p *Placing) over() bool { return p.Seen.State != protocol.PlacementStatePending }

// runPlace writes the row before placement is called.
func (b *Backend) runPlace(tx *store.Tx, p Placing) (*Placing, error) {
	pending := 0
	for old := range b.t.placingsOf.Equal(tx, p.PlayerID) {
		if !old.over() {
			pending++
		}
	}
	if pending >= mostPending {
		return nil, refuse("ticket-active", "two game sessions are on their way already")
	}
	p.ID, p.Created = tx.ID(""), tx.Now()
	p.Seen.State = protocol.PlacementStatePending
	b.putPlacing(tx, &p)
	return &p, nil
}

func (b *Backend) putPlacing(tx *store.Tx, p *Placing) {
	p.Seq++
	p.Change, p.Expires = tx.ID(""), tx.Now().Add(placingKept)
	b.t.placings.Put(tx, p)
	tx.OnCommit(func() { b.hub.wake([]string{p.PlayerID}) })
}

type placingSeen struct {
	ID   string
	Seen Placed
}

// runSeePlacing is runObserve for placings.
func (b *Backend) runSeePlacing(tx *store.Tx, all []placingSeen) (struct{}, error) {
	for _, o := range all {
		old := b.t.placings.Get(tx, o.ID)
		if old == nil || old.over() {
			continue
		}
		if now := b.opts.Placements.Live(tx, o.ID); now != nil {
			o.Seen = placedOf(now, old.PlayerID)
		}
		if old.Seen == o.Seen {
			continue
		}
		p := *old
		p.Seen = o.Seen
		b.putPlacing(tx, &p)
	}
	return struct{}{}, nil
}

// seePlacement returns what placement reports of a placing.
func (b *Backend) seePlacement(ctx context.Context, p *Placing) (o placingSeen, differs bool) {
	if p.over() {
		return o, false
	}
	at, _, err := b.opts.Placements.Get(ctx, p.ID)
	seen := p.Seen
	switch {
	case fault.Is(err, fault.NotFound) && time.Since(p.Created) >= lostAfter:
		seen.State, seen.Reason = protocol.PlacementStateFailed, "Lost"
	case err != nil:
		return o, false
	default:
		seen = placedOf(at, p.PlayerID)
	}
	return placingSeen{p.ID, seen}, seen != p.Seen
}

var placementStates = map[placement.Status]protocol.PlacementState{
	placement.Pending: protocol.PlacementStatePending, placement.Fulfilled: protocol.PlacementStateFulfilled,
	placement.Cancelled: protocol.PlacementStateCancelled, placement.TimedOut: protocol.PlacementStateTimedOut,
	placement.Failed: protocol.PlacementStateFailed,
}

func placedOf(at *placement.Placement, player string) Placed {
	seen := Placed{State: placementStates[at.Status], Reason: at.Reason}
	if at.Status == placement.Fulfilled {
		seen.SessionID, seen.IP, seen.DNSName, seen.Port = at.GameSessionID, at.IPAddress, at.DNSName, at.Port
		for _, placed := range at.Placed {
			if placed.PlayerID == player {
				seen.PlayerSessionID = placed.PlayerSessionID
			}
		}
	}
	return seen
}

func (p *Placing) out() *protocol.Placement {
	out := &protocol.Placement{
		PlacementID: p.ID, Pool: p.Pool, State: p.Seen.State, Reason: p.Seen.Reason, CreatedAt: p.Created, ExpiresAt: p.Expires, Seq: p.Seq,
	}
	if s := &p.Seen; s.State == protocol.PlacementStateFulfilled {
		out.Connection = connection(s.SessionID, s.IP, s.DNSName, s.Port, s.PlayerSessionID)
	}
	return out
}

// poolProperty marks game sessions that players created, so that lists show those of a
// pool and no matched game.
const poolProperty = "muster_pool"

func (rq *request) createSession() (answer, error) {
	in, err := decode[protocol.SessionRequest](rq)
	if err != nil {
		return answer{}, err
	}
	pool, err := rq.pool(in.Pool, func(p *Pool) bool { return p.CanCreate })
	if err != nil {
		return answer{}, err
	}
	if err := rq.limit(rq.b.rates.session, rq.player.PlayerID); err != nil {
		return answer{}, err
	}
	request, err := rq.b.sessionRequest(rq.player.PlayerID, pool, &in)
	if err != nil {
		return answer{}, err
	}
	p, err := rq.b.place(rq.http.Context(), pool, rq.player.PlayerID, request)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: p.out(), etag: quoted(p.Seq)}, nil
}

// place requests a game session: it writes the row first, then calls placement.
func (b *Backend) place(ctx context.Context, pool *Pool, player string, request placement.Request) (*Placing, error) {
	ctx, stop := finishing(ctx)
	defer stop()
	p, err := b.cmd.place.Do(ctx, Placing{Pool: pool.Name, PlayerID: player})
	if err != nil {
		return nil, err
	}
	request.ID = p.ID
	if _, err := b.opts.Placements.Start(ctx, placement.StartInput{Queue: pool.Queue, Request: request}); err != nil {
		if decided(err) {
			failed := []placingSeen{{p.ID, Placed{State: protocol.PlacementStateFailed, Reason: "Rejected"}}}
			b.written(ctx, func() error { _, err := b.cmd.seePlacing.Do(ctx, failed); return err })
		}
		return nil, err
	}
	return b.lookPlacing(ctx, p), nil
}

// sessionRequest returns the placement request, within what the pool allows.
func (b *Backend) sessionRequest(player string, pool *Pool, in *protocol.SessionRequest) (placement.Request, error) {
	r := placement.Request{
		Name: in.Name, MaxPlayers: pool.MaxPlayers, Players: []session.Joining{{PlayerID: player}},
		Properties: []session.Property{{Key: poolProperty, Value: pool.Name}},
	}
	if len([]rune(in.Name)) > 1024 {
		return r, refuse("validation-failed", "name: at most 1024 characters")
	}
	if in.MaxPlayers != 0 {
		if in.MaxPlayers < 1 || in.MaxPlayers > int64(pool.MaxPlayers) {
			return r, refuse("validation-failed", "max_players: must be 1 to "+strconv.Itoa(pool.MaxPlayers))
		}
		r.MaxPlayers = int(in.MaxPlayers)
	}
	for key, value := range in.Properties {
		if !slices.Contains(pool.Properties, key) && !b.Open || key == poolProperty {
			return r, refuse("validation-failed", "properties."+key+": "+pool.Name+" does not let players set it")
		}
		if len(key) > 32 || len([]rune(value)) > 96 {
			return r, refuse("validation-failed", "properties."+key+": at most 32 characters, its value at most 96")
		}
		r.Properties = append(r.Properties, session.Property{Key: key, Value: value})
	}
	if len(r.Properties) > 16 {
		return r, refuse("validation-failed", "properties: at most 15")
	}
	slices.SortFunc(r.Properties, func(x, y session.Property) int { return order(x.Key < y.Key, y.Key < x.Key) })
	ms, err := b.latencyOf(player, in.LatencyMs, &Matchmaker{Name: pool.Name})
	for location, n := range ms {
		r.Latencies = append(r.Latencies, placement.Latency{PlayerID: player, Location: location, Millis: float32(n)})
	}
	slices.SortFunc(r.Latencies, func(x, y placement.Latency) int { return order(x.Location < y.Location, y.Location < x.Location) })
	return r, err
}

// pool returns a pool that the player may use in a given way.
func (rq *request) pool(name string, may func(*Pool) bool) (*Pool, error) {
	p, err := find(rq.b.pools(rq.b.st.View()), func(p *Pool) bool { return p.Name == name }, "pool", name)
	switch {
	case err != nil:
		return nil, err
	case !allows(p.Scopes, rq.player.Scope):
		return nil, refuse("scope-insufficient", "link an account elsewhere to use "+name)
	case !may(p):
		return nil, refuse("not-allowed", "players may not do this in "+name)
	}
	return p, nil
}

// lookPlacing updates a placing to the current state and returns it.
func (b *Backend) lookPlacing(ctx context.Context, p *Placing) *Placing {
	b.observe(ctx, nil, []*Placing{p})
	if now := b.t.placings.Get(b.st.View(), p.ID); now != nil {
		return now
	}
	return p
}

// placing returns one of the requesting player's; another player's is not found.
func (rq *request) placing() (*Placing, error) {
	p := rq.b.t.placings.Get(rq.b.st.View(), rq.param("placement"))
	if p == nil || p.PlayerID != rq.player.PlayerID {
		return nil, refuse("not-found", "you have no placement "+rq.param("placement"))
	}
	return p, nil
}

func (rq *request) getPlacement() (answer, error) {
	return rq.poll(func() (body any, seq int64, ended bool, err error) {
		p, err := rq.placing()
		if err != nil {
			return nil, 0, false, err
		}
		return p.out(), p.Seq, p.over(), nil
	})
}

func (rq *request) stopPlacement() (answer, error) {
	if err := rq.change(); err != nil {
		return answer{}, err
	}
	p, err := rq.placing()
	if err != nil {
		return answer{}, err
	}
	if !p.over() {
		_, _, err := rq.b.opts.Placements.Stop(rq.http.Context(), p.ID)
		p = rq.b.lookPlacing(rq.http.Context(), p)
		if err != nil && !p.over() {
			return answer{}, refuse("placement-ended", "the game session is being made and cannot be given up any more")
		}
	}
	return answer{status: http.StatusAccepted, body: p.out(), etag: quoted(p.Seq)}, nil
}
