package serversdk

import (
	"slices"
	"time"

	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/gameframe"
	"github.com/musterhq/muster/serversdk/protocol"
)

// maxHeld limits the pushes that wait for a process to come back.
const maxHeld = 32

// push is a message that answers no request.
type push struct {
	action protocol.Action
	frame  []byte
}

// StartGameSession implements compute.Link. The write is tried at most once.
func (p *peer) StartGameSession(start compute.Start) {
	p.push(protocol.CreateGameSession, protocol.CreateGameSessionPush{
		Action: protocol.CreateGameSession, MaxPlayers: start.MaxPlayers, Port: start.Port,
		IPAddress: start.IPAddress, DNSName: start.DNSName, GameSessionID: start.GameSessionID,
		Name: start.Name, Data: start.Data, MatchmakerData: start.MatchmakerData, Properties: start.Properties,
	})
}

// UpdateGameSession implements compute.Link.
func (p *peer) UpdateGameSession(u compute.Update) {
	g := u.Session
	p.push(protocol.UpdateGameSession, protocol.UpdateGameSessionPush{
		Action: protocol.UpdateGameSession, UpdateReason: u.Reason, BackfillTicketID: u.BackfillTicketID,
		GameSession: protocol.GameSession{
			GameSessionID: g.GameSessionID, Name: g.Name, FleetID: u.FleetID, Location: u.Location,
			MaxPlayers: g.MaxPlayers, IPAddress: g.IPAddress, Port: g.Port, DNSName: g.DNSName,
			Data: g.Data, MatchmakerData: g.MatchmakerData, Properties: g.Properties, Status: u.Status,
		},
	})
}

// Terminate implements compute.Link.
func (p *peer) Terminate(by time.Time) {
	p.push(protocol.TerminateProcess, protocol.TerminateProcessPush{
		Action: protocol.TerminateProcess, TerminationTime: by.UnixMilli(),
	})
}

// Drop implements compute.Link.
func (p *peer) Drop() { p.each((*conn).drop) }

// push sends a message on the newest connection, or keeps it for the next one.
func (p *peer) push(action protocol.Action, message any) {
	m := push{action, protocol.Encode(message)}
	if len(m.frame) > gameframe.Max {
		p.s.log.Error("a message is too large for a process and is not sent", "process", p.key, "action", action, "bytes", len(m.frame), "limit", gameframe.Max)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold(m)
	p.flush()
}

// hold adds a push to those that wait. A process that is to end needs no other, and
// of many updates only the latest are kept.
func (p *peer) hold(m push) {
	if m.action == protocol.TerminateProcess {
		p.held = nil
	}
	p.held = append(p.held, m)
	if len(p.held) <= maxHeld {
		return
	}
	at := slices.IndexFunc(p.held, func(m push) bool { return m.action == protocol.UpdateGameSession })
	p.held = slices.Delete(p.held, max(at, 0), max(at, 0)+1)
	p.s.log.Warn("too many pushes wait for a process, dropping the oldest", "process", p.key)
}

// flush passes waiting pushes to the newest connection that accepts them. mu must be held.
func (p *peer) flush() {
	for len(p.held) > 0 && p.offer(p.held[0]) {
		p.held = p.held[1:]
	}
	if len(p.held) == 0 {
		p.held = nil
	}
}

func (p *peer) offer(m push) bool {
	for _, c := range slices.Backward(p.conns) {
		if c.offer(m) {
			return true
		}
	}
	return false
}

// refresh tells the process to connect anew, and reports whether it has a connection.
// The push is not kept: a process that is away comes back by itself.
func (p *peer) refresh(endpoint, token string) bool {
	frame := protocol.Encode(protocol.RefreshConnectionPush{
		Action: protocol.RefreshConnection, Endpoint: endpoint, AuthToken: token,
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offer(push{protocol.RefreshConnection, frame})
}
