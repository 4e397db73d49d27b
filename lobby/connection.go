package lobby

import (
	"github.com/musterhq/muster/internal/address"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/session"
)

// Connection is how players reach their game session.
type Connection struct {
	SessionID string `json:"session_id,omitzero"`
	IP        string `json:"ip,omitzero"`       // the IPv4 address, or the only one; the DNS name if there is none
	IPv6      string `json:"ipv6,omitzero"`     // set only beside an IPv4 address
	DNSName   string `json:"dns_name,omitzero"` // IP if there is none
	Port      int    `json:"port,omitzero"`
}

// ConnectionOf returns the connection of a player session as Games returns it.
func ConnectionOf(p *session.PlayerSession) Connection {
	return Connection{p.GameSessionID, p.IPAddress, p.IPv6Address, p.DNSName, p.Port}
}

// PreferIPv6 returns the connection with the IPv6 address in IP and the IPv4 address in IPv6, if
// it has both.
func (c Connection) PreferIPv6() Connection {
	if c.IPv6 == "" {
		return c
	}
	if c.DNSName == c.IP {
		c.DNSName = c.IPv6
	}
	c.IP, c.IPv6 = c.IPv6, c.IP
	return c
}

// Addresses returns the IP addresses, that in IP first.
func (c Connection) Addresses() []string {
	var all []string
	for _, ip := range []string{c.IP, c.IPv6} {
		if address.Is(ip) {
			all = append(all, ip)
		}
	}
	return all
}

// connectionTo returns the connection to a game session of this deployment.
func connectionTo(g *session.GameSession) Connection {
	return Connection{g.ID, g.IPAddress, g.IPv6Address, g.DNSName, g.Port}
}

// located returns a connection as its game session has it, if that is one of this deployment.
func (c *core) located(r store.Reader, to Connection) Connection {
	if g := c.deps.Sessions.Live(r, to.SessionID); g != nil && to.Port != 0 {
		return connectionTo(g)
	}
	return to
}

// moved sets the address of tickets and placements whose game session has another one.
func (s *Service) moved(tx *store.Tx, g *session.GameSession) {
	to := connectionTo(g)
	for t := range s.Tickets.playing.Equal(tx, g.ID) {
		moved := *t
		moved.Found.Connection, moved.Updated = to, tx.Now()
		s.Tickets.requests.put(tx, &moved) // not counted as a change of its state
	}
	for p := range s.Placements.playing.Equal(tx, g.ID) {
		moved := *p
		moved.Result.Connection = to
		s.Placements.put(tx, &moved)
	}
}
