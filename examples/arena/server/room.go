package server

import (
	"net/netip"
	"time"

	"github.com/musterhq/muster/examples/arena/game"
	"github.com/musterhq/muster/examples/arena/wire"
)

const (
	maxSeats   = game.MaxPlayers
	maxAsking  = 32  // concurrent calls of Accept; further Joins wait until they are repeated
	maxFormers = 256 // former guests whose last answer is kept for repetition
)

// peer is where a client is: its address, and its WebSocket unless it sends datagrams.
type peer struct {
	addr netip.AddrPort
	web  *webConn
}

// String returns the address, for logs.
func (p peer) String() string { return p.addr.String() }

// guest is a player, or a client waiting to be admitted.
type guest struct {
	session  string // player session id
	address  peer
	key      uint64
	player   uint8 // 0 until admitted
	heard    time.Time
	sequence uint32
	wish     game.Input
}

// room is the game and the guests of one game session.
type room struct {
	opts   Options
	newKey func() uint64
	state  game.State
	result Result

	guests  map[string]*guest // by player session id, admitted or waiting
	at      map[peer]*guest   // admitted, by address
	asking  int
	formers formers

	opened     time.Time
	emptySince time.Time

	// Pending work; the owner takes it after each call.
	out    []packet
	accept []string
	remove []string
}

type packet struct {
	to      peer
	message wire.Message
}

func newRoom(opts Options, now time.Time, newKey func() uint64) *room {
	return &room{
		opts: opts, newKey: newKey, state: game.New(opts.Seed),
		guests: map[string]*guest{}, at: map[peer]*guest{}, formers: formers{limit: maxFormers, answers: map[former]wire.Message{}},
		opened: now, emptySince: now,
	}
}

func (r *room) send(to peer, m wire.Message) {
	r.out = append(r.out, packet{to, m})
}

func (r *room) receive(now time.Time, from peer, m wire.Message) {
	switch m := m.(type) {
	case wire.Join:
		r.join(now, from, m.PlayerSessionID)
	case wire.Input:
		r.input(now, from, m)
	case wire.Leave:
		r.leave(now, from, m.Key)
	}
}

func (r *room) join(now time.Time, from peer, session string) {
	if known := r.guests[session]; known != nil {
		r.joinAgain(now, from, known)
		return
	}
	last := r.formers.answers[former{address: from, session: session}]
	switch {
	case r.at[from] != nil:
		r.refuse(from, session, wire.RefusedSession)
	case last != nil:
		r.send(from, last)
	case len(r.at) >= r.opts.Seats:
		r.refuse(from, session, wire.RefusedFull)
	case r.asking < maxAsking:
		r.asking++
		r.guests[session] = &guest{session: session, address: from}
		r.accept = append(r.accept, session)
	}
}

// joinAgain answers a Join whose player session is already admitted or waiting. From
// the same address it is a repetition; from another one, somebody else uses the id.
func (r *room) joinAgain(now time.Time, from peer, known *guest) {
	switch {
	case known.address != from:
		r.refuse(from, known.session, wire.RefusedSession)
	case known.player != 0:
		known.heard = now
		r.welcome(known)
	}
}

func (r *room) refuse(to peer, session string, why wire.Refusal) {
	r.result.Refused++
	r.opts.Log.Info("player refused", "player_session_id", session, "address", to, "reason", why)
	r.send(to, wire.Refused{Reason: why})
}

func (r *room) welcome(g *guest) {
	r.send(g.address, wire.Welcome{Key: g.key, Player: g.player, TicksASecond: uint8(r.opts.TicksASecond),
		Width: game.Size, Height: game.Size})
}

// accepted handles the hosting service's verdict on a guest. If the service could not
// answer, neither does the room: the client repeats its Join.
func (r *room) accepted(now time.Time, session string, verdict verdict) {
	r.asking--
	g := r.guests[session]
	if verdict == admitted && r.seat(now, g) {
		return
	}
	delete(r.guests, session)
	switch verdict {
	case admitted:
		r.remove = append(r.remove, session)
		r.refuse(g.address, session, wire.RefusedFull)
	case rejected:
		r.formers.keep(former{address: g.address, session: session}, wire.Refused{Reason: wire.RefusedSession})
		r.refuse(g.address, session, wire.RefusedSession)
	}
}

// verdict is the hosting service's answer about a guest.
type verdict int

const (
	admitted verdict = iota
	rejected
	unanswered
)

func (r *room) seat(now time.Time, g *guest) bool {
	if len(r.at) >= r.opts.Seats || r.at[g.address] != nil {
		return false
	}
	state, id, ok := game.Join(r.state, 1+game.Direction(r.result.Players%8))
	if !ok {
		return false
	}
	r.state = state
	g.player, g.key, g.heard = id, r.newKey(), now
	g.wish = game.Input{Player: id}
	r.at[g.address] = g
	r.result.Players++
	r.opts.Log.Info("player joined", "player_session_id", g.session, "player", id)
	r.welcome(g)
	return true
}

func (r *room) input(now time.Time, from peer, in wire.Input) {
	g := r.at[from]
	if g == nil || g.key != in.Key {
		return
	}
	g.heard = now
	if int32(in.Sequence-g.sequence) <= 0 {
		return
	}
	g.sequence = in.Sequence
	g.wish = game.Input{Player: g.player, Move: game.Direction(in.Move), Fire: in.Fire}
}

func (r *room) leave(now time.Time, from peer, key uint64) {
	if g := r.at[from]; g != nil && g.key == key {
		r.depart(now, g, wire.OverLeft)
		return
	}
	if last := r.formers.answers[former{address: from, key: key}]; last != nil {
		r.send(from, last)
	}
}

// depart removes a player and notifies it and the hosting service.
func (r *room) depart(now time.Time, g *guest, why wire.Ending) {
	over := wire.Over{Reason: why, Scores: r.scores()}
	r.send(g.address, over)
	r.formers.keep(former{address: g.address, key: g.key}, over)
	r.opts.Log.Info("player gone", "player_session_id", g.session, "player", g.player, "reason", why)
	r.state = game.Leave(r.state, g.player)
	delete(r.at, g.address)
	delete(r.guests, g.session)
	r.remove = append(r.remove, g.session)
	r.emptySince = now
}
