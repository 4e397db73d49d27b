package bot

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/musterhq/muster/examples/arena/wire"
)

const (
	joinEvery  = 250 * time.Millisecond
	leaveEvery = 100 * time.Millisecond
	leaveTries = 10
)

// player is a playing bot. Its goroutine owns everything but the reading.
type player struct {
	opts     Options
	conn     net.Conn
	messages chan wire.Message
	done     chan struct{} // closed when reading has ended
	rng      *rand.Rand

	key      uint64
	first    uint32 // tick of the first Snapshot
	view     wire.Snapshot
	sequence uint32
	result   Result
}

// read passes packets on until the socket is closed. A single failing read (because
// the server's port is closed, say) counts as a lost packet.
func (p *player) read() {
	defer close(p.done)
	buffer := make([]byte, wire.MaxPacket+1)
	for {
		n, err := p.conn.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		m, invalid := wire.Decode(buffer[:n])
		if err != nil || invalid != nil {
			continue
		}
		select {
		case p.messages <- m:
		default:
		}
	}
}

func (p *player) send(m wire.Message) {
	// A packet that cannot be sent is a lost packet; all are repeated or outdated.
	_, _ = p.conn.Write(wire.Append(nil, m))
}

// play runs the stages: join, fight, leave.
func (p *player) play(ctx context.Context) {
	if !p.join(ctx) {
		return
	}
	if p.opts.Joined != nil {
		p.opts.Joined()
	}
	started := time.Now()
	over := p.fight(ctx)
	p.result.PlayedMS = time.Since(started).Milliseconds()
	if !over {
		p.leave()
	}
}

// join repeats Join until there is an answer. It returns true if the bot is admitted.
func (p *player) join(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, p.opts.JoinFor)
	defer cancel()
	again := time.NewTicker(joinEvery)
	defer again.Stop()
	p.send(wire.Join{PlayerSessionID: p.opts.PlayerSessionID})
	for {
		select {
		case <-ctx.Done():
			p.result.Ending = Unanswered
			return false
		case <-again.C:
			p.send(wire.Join{PlayerSessionID: p.opts.PlayerSessionID})
		case m := <-p.messages:
			switch m := m.(type) {
			case wire.Welcome:
				p.key, p.result.Player = m.Key, int(m.Player)
				return true
			case wire.Refused:
				p.result.Ending, p.result.Reason = Refused, m.Reason.String()
				return false
			}
		}
	}
}

// fight plays until its time is up (false) or the game is over (true).
func (p *player) fight(ctx context.Context) bool {
	if p.opts.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.opts.For)
		defer cancel()
	}
	act := time.NewTicker(p.opts.ActEvery)
	defer act.Stop()
	silence := time.NewTimer(p.opts.SilentFor)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-silence.C:
			p.result.Ending = Lost
			return true
		case <-act.C:
			p.act()
		case m := <-p.messages:
			silence.Reset(p.opts.SilentFor)
			if p.hear(m) {
				return true
			}
		}
	}
}

func (p *player) act() {
	in := decide(p.view, uint8(p.result.Player), p.rng)
	p.sequence++
	in.Key, in.Sequence = p.key, p.sequence
	p.send(in)
}

// hear handles a message during or after the game. It returns true if the game is
// over.
func (p *player) hear(m wire.Message) bool {
	switch m := m.(type) {
	case wire.Snapshot:
		if p.result.Ending != Left { // a bot that has left does not compete any more
			p.see(m)
		}
	case wire.Over:
		if p.result.Ending != Left {
			p.rank(m.Scores)
		}
		p.result.Ending = Ending(m.Reason.String())
		return true
	}
	return false
}

// see records a Snapshot; late ones are ignored.
func (p *player) see(view wire.Snapshot) {
	if p.result.Snapshots > 0 && int32(view.Tick-p.view.Tick) <= 0 {
		return
	}
	if p.result.Snapshots == 0 {
		p.first = view.Tick
	}
	p.view = view
	p.result.Snapshots++
	p.result.Ticks = int(view.Tick - p.first)
	p.result.Players = len(view.Players)
	scores := make([]wire.Score, 0, len(view.Players))
	for _, other := range view.Players {
		scores = append(scores, wire.Score{Player: other.ID, Score: other.Score})
	}
	p.rank(scores)
	if p.opts.Watch != nil {
		p.opts.Watch(view)
	}
}

// rank records the bot's score and place; equal scores share the better place.
func (p *player) rank(scores []wire.Score) {
	for _, s := range scores {
		if int(s.Player) == p.result.Player {
			p.result.Score = int(s.Score)
		}
	}
	p.result.Place = 1
	for _, s := range scores {
		if int(s.Score) > p.result.Score {
			p.result.Place++
		}
	}
}

// leave sends Leave until the server confirms it or leaveTries is reached; a server
// that receives none finds the bot silent soon after.
func (p *player) leave() {
	p.result.Ending = Left
	again := time.NewTicker(leaveEvery)
	defer again.Stop()
	for range leaveTries {
		p.send(wire.Leave{Key: p.key})
		for waiting := true; waiting; {
			select {
			case <-again.C:
				waiting = false
			case m := <-p.messages:
				if p.hear(m) {
					return
				}
			}
		}
	}
}
