package lobby

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// PlacementState is the state of a Placement, spelled as players see it.
type PlacementState string

// The states of a Placement, those of package placement.
const (
	PlacementPending   PlacementState = "pending"
	PlacementFulfilled PlacementState = "fulfilled"
	PlacementCancelled PlacementState = "cancelled"
	PlacementTimedOut  PlacementState = "timed_out"
	PlacementFailed    PlacementState = "failed"
)

// Placement is a player's request for a game session of their own.
type Placement struct {
	Request
	Pool     string `json:"pool"`
	PlayerID string `json:"player_id"`
	Result   Result `json:"seen"`
}

// Result is what the player sees of the queue's placement.
type Result struct {
	State  PlacementState `json:"state"`
	Reason string         `json:"reason,omitzero"`
	Connection
	PlayerSessionID string `json:"player_session_id,omitzero"`
}

const mostPending = 2 // of one player at a time

// Over reports whether the placement has ended.
func (p *Placement) Over() bool { return p.Result.State != PlacementPending }

func (p *Placement) players() []string { return []string{p.PlayerID} }

func (p *Placement) connection() *Connection { return &p.Result.Connection }

// Placements are the players' placements.
type Placements struct {
	requests[Placement, *Placement]
	start *store.Command[placeArgs, *Placement]
}

func (s *Placements) register() {
	s.requests.register("play_placement")
	s.start = store.NewCommand(s.st, "play.place", s.runPlace)
	s.deps.Placements.OnEnded(s.follow)
}

type placeArgs struct {
	Placement Placement
	Queue     string
	Request   placement.Request
}

// runPlace starts the queue's placement and writes the player's in the same transaction.
func (s *Placements) runPlace(tx *store.Tx, a placeArgs) (*Placement, error) {
	p, pending := a.Placement, 0
	if err := s.deps.Identity.Accounts.MayPlay(tx, p.PlayerID); err != nil {
		return nil, err
	}
	for range s.openOf(tx, p.PlayerID) {
		pending++
	}
	if pending >= mostPending {
		return nil, refuse(TicketActive, "two game sessions are on their way already")
	}
	p.ID, p.Created = tx.ID(""), tx.Now()
	a.Request.ID = p.ID
	if _, err := s.deps.Placements.StartNow(tx, placement.StartInput{Queue: a.Queue, Request: a.Request}); err != nil {
		return nil, err
	}
	p.Result.State = PlacementPending
	s.put(tx, &p)
	return &p, nil
}

// follow ends the player's placement in the transaction that ended the queue's.
func (s *Placements) follow(tx *store.Tx, ended *placement.Placement) {
	if old := s.rows.Get(tx, ended.ID); old != nil {
		s.update(tx, old, s.result(tx, ended, old.PlayerID))
	}
}

// update writes what has changed for the player, if anything. An end is final.
func (s *Placements) update(tx *store.Tx, old *Placement, result Result) {
	if old.Over() || old.Result == result {
		return
	}
	p := *old
	p.Result = result
	s.put(tx, &p)
}

func (s *Placements) result(r store.Reader, at *placement.Placement, player string) Result {
	result := Result{State: PlacementState(strings.ToLower(string(at.Status))), Reason: at.Reason}
	if at.Status == placement.Fulfilled {
		result.Connection = s.located(r, Connection{SessionID: at.GameSessionID, IP: at.IPAddress, DNSName: at.DNSName, Port: at.Port})
		for _, placed := range at.Placed {
			if placed.PlayerID == player {
				result.PlayerSessionID = placed.PlayerSessionID
			}
		}
	}
	return result
}

// SessionRequest is a player's request for a game session.
type SessionRequest struct {
	Name       string
	MaxPlayers int64 // 0 means the pool's
	Properties map[string]string
	Latency    map[string]float64 // milliseconds by location; nil means the reported ones
}

// PoolToCreateIn returns a pool in which a player with a scope may create game sessions.
func (s *Placements) PoolToCreateIn(name, scope string) (*Pool, error) {
	return s.catalog.pool(name, scope, func(p *Pool) bool { return p.CanCreate })
}

// Start requests a game session of a pool for a player.
func (s *Placements) Start(ctx context.Context, player string, pool *Pool, in SessionRequest) (*Placement, error) {
	request, err := s.request(player, pool, &in)
	if err != nil {
		return nil, err
	}
	return s.start.Do(ctx, placeArgs{Placement{Pool: pool.Name, PlayerID: player}, pool.Queue, request})
}

// request returns the placement request, or an error if the pool does not allow it.
func (s *Placements) request(player string, pool *Pool, in *SessionRequest) (placement.Request, error) {
	r := placement.Request{
		Name: in.Name, MaxPlayers: pool.MaxPlayers, Players: []session.Joining{{PlayerID: player}},
		Properties: []session.Property{{Key: poolProperty, Value: pool.Name}},
	}
	if len([]rune(in.Name)) > 1024 {
		return r, refuse(ValidationFailed, "name: at most 1024 characters")
	}
	if in.MaxPlayers != 0 {
		if in.MaxPlayers < 1 || in.MaxPlayers > int64(pool.MaxPlayers) {
			return r, refuse(ValidationFailed, "max_players: must be 1 to "+strconv.Itoa(pool.MaxPlayers))
		}
		r.MaxPlayers = int(in.MaxPlayers)
	}
	for key, value := range in.Properties {
		if !slices.Contains(pool.Properties, key) && !s.catalog.open() || key == poolProperty {
			return r, refuse(ValidationFailed, "properties."+key+": "+pool.Name+" does not let players set it")
		}
		if len(key) > 32 || len([]rune(value)) > 96 {
			return r, refuse(ValidationFailed, "properties."+key+": at most 32 characters, its value at most 96")
		}
		r.Properties = append(r.Properties, session.Property{Key: key, Value: value})
	}
	if len(r.Properties) > 16 {
		return r, refuse(ValidationFailed, "properties: at most 15")
	}
	slices.SortFunc(r.Properties, func(x, y session.Property) int { return cmp.Compare(x.Key, y.Key) })
	ms, err := s.latencies.forRequest(player, in.Latency, &Matchmaker{Name: pool.Name})
	for location, n := range ms {
		r.Latencies = append(r.Latencies, placement.Latency{PlayerID: player, Location: location, Millis: float32(n)})
	}
	slices.SortFunc(r.Latencies, func(x, y placement.Latency) int { return cmp.Compare(x.Location, y.Location) })
	return r, err
}

// Cancel cancels a placement of a player. One that has ended stays as it is. Errors:
// NotFound, PlacementEnded (its game session is being created).
func (s *Placements) Cancel(ctx context.Context, player, id string) (*Placement, error) {
	p, err := s.Get(player, id)
	if err != nil || p.Over() {
		return p, err
	}
	_, _, err = s.deps.Placements.Stop(ctx, id)
	p = s.current(p)
	if err != nil && !p.Over() {
		return nil, refuse(PlacementEnded, "the game session is being made and cannot be given up any more")
	}
	return p, nil
}

func (s *Placements) expel(tx *store.Tx, player string) {
	for p := range s.openOf(tx, player) {
		s.deps.Placements.Cancel(tx, p.ID)
	}
}
