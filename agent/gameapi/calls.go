package gameapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/musterhq/muster/agent/gamelink"
)

// Limits of what a program says.
const (
	maxPort          = 65535
	maxLogPaths      = 100
	maxLogPath       = 1024 // bytes
	minHealthTimeout = 5    // seconds
	maxHealthTimeout = 3600
	maxID            = 256 // bytes of an id
	maxListed        = 4096
	pageSize         = 64 // player sessions of one answer of Muster, so that it fits a message of the relay
)

// answering is how long Muster may take for one request of the program. It is shorter
// than the patience of a link, so that a late answer does not cost the connection.
const answering = 15 * time.Second

// request sends a request of the program to Muster. what completes "it is not known
// whether …".
func (p *Process) request(ctx context.Context, what, action string, members map[string]any, to any) error {
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)() // the program repeats it at the next agent
	if err := p.muster().Ask(ctx, action, members, to); err != nil {
		return problemOf(err, what)
	}
	return nil
}

// isReady returns an error unless the program has called ready.
func (p *Process) isReady() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept.Ready == nil {
		return problem(http.StatusConflict, "not-ready", "", "the process has not called ready", "POST /ready first")
	}
	return nil
}

// session returns the id of the game session. Errors: not-ready, no-session.
func (p *Process) session() (string, error) {
	if err := p.isReady(); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept.Session == nil {
		return "", problem(http.StatusConflict, "no-session", "", "the process has no game session", "wait for one with GET /session?wait=30")
	}
	return p.kept.Session.SessionID, nil
}

// check returns an error if a member is outside of its limits.
func (r ReadyRequest) check() error {
	switch {
	case r.Port != nil && (*r.Port < 1 || *r.Port > maxPort):
		return invalid("port", fmt.Sprintf("port is %d; it must be 1 to %d, since players connect to it", *r.Port, maxPort), "give the port on which it listens, or leave it out to use GAME_PORT")
	case len(r.LogPaths) > maxLogPaths:
		return invalid("log_paths", fmt.Sprintf("log_paths has %d entries; at most %d are allowed", len(r.LogPaths), maxLogPaths), "name a folder in place of its files")
	case r.HealthTimeout != 0 && (r.HealthTimeout < minHealthTimeout || r.HealthTimeout > maxHealthTimeout):
		return invalid("health_timeout_seconds", fmt.Sprintf("health_timeout_seconds is %d; it must be %d to %d", r.HealthTimeout, minHealthTimeout, maxHealthTimeout), "leave it out if the process is healthy while it runs")
	}
	for _, path := range r.LogPaths {
		if path == "" || len(path) > maxLogPath {
			return invalid("log_paths", fmt.Sprintf("a path in log_paths has %d bytes; it must have 1 to %d", len(path), maxLogPath), "")
		}
	}
	return nil
}

// ready is POST /ready. If Muster cannot be reached, the process becomes ready as soon as
// it can; only its state tells.
func (p *Process) ready(ctx context.Context, r ReadyRequest) error {
	if err := r.check(); err != nil {
		return err
	}
	if p.wraps != nil && r.Port != nil && *r.Port != p.a.Port {
		return invalid("port", fmt.Sprintf("port is %d; the game session was announced with %d", *r.Port, p.a.Port), "listen on GAME_PORT")
	}
	p.mu.Lock()
	first := p.kept.Ready == nil
	p.mu.Unlock()
	if !first {
		return p.readyAgain(ctx, r)
	}
	p.change(func(k *kept) {
		if first = k.Ready == nil; first {
			k.Ready = &r
			p.open()
		}
	})
	switch {
	case !first: // another request was first
		return p.readyAgain(ctx, r)
	case p.wraps != nil:
		p.wraps.Managed()
	}
	done := make(chan error, 1)
	p.spawn(func() {
		err := p.announce(p.life)
		if _, refused := errors.AsType[*gamelink.Refusal](err); refused {
			p.change(func(k *kept) { k.Ready = nil }) // the program may call it with other members
		}
		done <- err
	})
	late := time.NewTimer(answering)
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil {
			return problemOf(err, "the process is ready")
		}
	case <-late.C:
	case <-ctx.Done():
	case <-p.life.Done():
	}
	return nil
}

// readyAgain is a repeated POST /ready.
func (p *Process) readyAgain(ctx context.Context, r ReadyRequest) error {
	p.mu.Lock()
	before := p.kept.Ready
	p.mu.Unlock()
	if before == nil || !reflect.DeepEqual(*before, r) {
		return problem(http.StatusConflict, "already-ready", "", "the process has called ready with other members", "a process calls ready once; a new run of the program is another process")
	}
	late := time.NewTimer(answering)
	defer late.Stop()
	for {
		now, changed := p.Look()
		if now.State != Starting {
			return nil
		}
		select {
		case <-changed:
		case <-late.C:
			return nil
		case <-ctx.Done():
			return nil
		case <-p.life.Done():
			return nil
		}
	}
}

// activate is POST /session/activate.
func (p *Process) activate(ctx context.Context) error {
	id, err := p.session()
	if err != nil {
		return err
	}
	p.mu.Lock()
	is := p.kept.Activated
	p.mu.Unlock()
	if is {
		return nil
	}
	if err := p.request(ctx, "the game session is active", "ActivateGameSession", map[string]any{"GameSessionId": id}, nil); err != nil {
		return err
	}
	p.change(func(k *kept) { k.Activated = true })
	return nil
}

// accepting is PATCH /session.
func (p *Process) accepting(ctx context.Context, c SessionChange) error {
	id, err := p.session()
	if err != nil {
		return err
	}
	if c.AcceptingPlayers == nil {
		return invalid("accepting_players", "accepting_players is required", "send true or false")
	}
	policy := "DENY_ALL"
	if *c.AcceptingPlayers {
		policy = "ACCEPT_ALL"
	}
	return p.request(ctx, "the game session is open to new players", "UpdatePlayerSessionCreationPolicy", map[string]any{"GameSessionId": id, "PlayerSessionPolicy": policy}, nil)
}

func checkID(member, id string) error {
	if id == "" || len(id) > maxID {
		return invalid(member, fmt.Sprintf("%s has %d bytes; it must have 1 to %d", member, len(id), maxID), "")
	}
	return nil
}

// accept is POST /players: a player who has connected presents a player session.
func (p *Process) accept(ctx context.Context, in PlayerRequest) (Player, error) {
	session, err := p.session()
	if err != nil {
		return Player{}, err
	}
	id := in.PlayerSessionID
	if err := checkID("player_session_id", id); err != nil {
		return Player{}, err
	}
	p.mu.Lock()
	busy := p.arriving[id] || p.kept.Taken[id]
	if !busy {
		p.arriving[id] = true
	}
	p.mu.Unlock()
	if busy {
		return Player{}, notAccepted("the player session was accepted already, for another connection")
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.arriving, id)
	}()
	err = p.request(ctx, "the player is accepted", "AcceptPlayerSession", map[string]any{"GameSessionId": session, "PlayerSessionId": id}, nil)
	var refused *Problem
	if errors.As(err, &refused) && refused.Code != "refused" {
		return Player{}, err
	}
	found, looked := p.player(ctx, session, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case refused != nil && (looked != nil || found.State != "active"):
		return Player{}, notAccepted(refused.Detail)
	case looked != nil:
		return Player{}, looked // a repeated request finds the player
	}
	p.take(id, true)
	return found, nil
}

// notAccepted returns the problem of a player who is not let in.
func notAccepted(detail string) *Problem {
	return problem(http.StatusConflict, "player-refused", "player_session_id", detail, "disconnect this connection, and no other")
}

// playerSession is a player session as Muster describes it.
type playerSession struct {
	PlayerID        string `json:"PlayerId"`
	PlayerSessionID string `json:"PlayerSessionId"`
	GameSessionID   string `json:"GameSessionId"`
	PlayerData      string
	CreationTime    int64
	TerminationTime int64
	Status          string
}

// states are the statuses of player sessions.
var states = map[string]string{"RESERVED": "reserved", "ACTIVE": "active", "COMPLETED": "completed", "TIMEDOUT": "timed_out"}

func (s playerSession) shown() Player {
	shown := Player{
		PlayerSessionID: s.PlayerSessionID, PlayerID: s.PlayerID, Data: s.PlayerData, State: cmp.Or(states[s.Status], s.Status), Created: time.UnixMilli(s.CreationTime).UTC(),
	}
	if s.TerminationTime > 0 {
		at := time.UnixMilli(s.TerminationTime).UTC()
		shown.Ended = &at
	}
	return shown
}

type playerSessions struct {
	NextToken      string
	PlayerSessions []playerSession
}

// player returns a player session of the game session.
func (p *Process) player(ctx context.Context, session, id string) (Player, error) {
	var page playerSessions
	if err := p.request(ctx, "the player is here", "DescribePlayerSessions", map[string]any{"PlayerSessionId": id}, &page); err != nil {
		return Player{}, err
	}
	for _, s := range page.PlayerSessions {
		if s.PlayerSessionID == id && s.GameSessionID == session {
			return s.shown(), nil
		}
	}
	return Player{}, problem(http.StatusNotFound, "not-found", "player_session_id", "the game session has no such player session", "")
}

// players is GET /players. state may be "".
func (p *Process) players(ctx context.Context, state string) (Players, error) {
	all := Players{Players: []Player{}}
	session, err := p.session()
	if err != nil {
		return all, err
	}
	filter := ""
	for status, name := range states {
		if name == state {
			filter = status
		}
	}
	if state != "" && filter == "" {
		return all, invalid("state", fmt.Sprintf("state is %q; it must be reserved, active, completed or timed_out", state), "leave it out for all")
	}
	for next := ""; ; {
		var page playerSessions
		if err := p.request(ctx, "there are players", "DescribePlayerSessions", map[string]any{
			"GameSessionId": session, "PlayerSessionStatusFilter": filter, "Limit": pageSize, "NextToken": next,
		}, &page); err != nil {
			return all, err
		}
		for _, s := range page.PlayerSessions {
			all.Players = append(all.Players, s.shown())
		}
		if next = page.NextToken; next == "" || len(all.Players) >= maxListed {
			return all, nil
		}
	}
}

// remove is DELETE /players/{id}.
func (p *Process) remove(ctx context.Context, id string) error {
	session, err := p.session()
	if err != nil {
		return err
	}
	if err := checkID("player_session_id", id); err != nil {
		return err
	}
	err = p.request(ctx, "the player is removed", "RemovePlayerSession", map[string]any{"GameSessionId": session, "PlayerSessionId": id}, nil)
	var refused *Problem
	if errors.As(err, &refused) && refused.Code == "refused" { // it may have been removed, and the answer was lost
		if found, looked := p.player(ctx, session, id); looked == nil && found.State == "completed" {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.take(id, false)
	return nil
}

// leaving is how long POST /end waits for Muster. The program may exit then: its end is
// reported for it.
const leaving = 10 * time.Second

// leave is POST /end.
func (p *Process) leave(ctx context.Context) {
	p.mu.Lock()
	k := p.kept
	p.mu.Unlock()
	if !k.Ended {
		p.change(func(k *kept) { k.Ended = true })
	}
	if k.Ready == nil {
		return
	}
	done := make(chan struct{})
	p.spawn(func() {
		defer close(done)
		_ = p.goodbye(p.life)
	})
	late := time.NewTimer(leaving)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	case <-p.life.Done():
	}
}

// certificate is GET /certificate.
func (p *Process) certificate(ctx context.Context) (c Certificate, err error) {
	if err := p.isReady(); err != nil {
		return c, err
	}
	var answer struct{ CertificatePath, ComputeName string }
	err = p.request(ctx, "there is a certificate", "GetComputeCertificate", nil, &answer)
	return Certificate{answer.CertificatePath, answer.ComputeName}, err
}

// matchData is what a backfill needs of matchmaker data.
type matchData struct {
	Configuration string `json:"matchmakingConfigurationArn"`
	Teams         []struct {
		Name    string
		Players []struct {
			PlayerID   string `json:"playerId"`
			Attributes map[string]struct {
				Type  string          `json:"attributeType"`
				Value json.RawMessage `json:"valueAttribute"`
			}
		}
	}
}
