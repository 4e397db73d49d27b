package session

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

// Status is the status of a game session, as the API spells it (API reference,
// GameSession).
type Status string

// The statuses of a game session.
const (
	Activating  Status = "ACTIVATING"  // assigned to a process that is preparing it
	Active      Status = "ACTIVE"      // players can join
	Terminating Status = "TERMINATING" // it is being ended
	Terminated  Status = "TERMINATED"
	Error       Status = "ERROR"
)

// Info describes a game session at one moment (API reference, GameSession; in O3DE
// SessionConfig).
type Info struct {
	ID         string            // the game session's ARN
	Name       string            // label for people; need not be unique
	CreatorID  string            // who created it, as named in the request
	Properties map[string]string // at most 16

	Data           string // the creator's data for the game server
	MatchmakerData string // JSON from FlexMatch, see package matchdata; "" without a match

	DNSName    string // set if the fleet has TLS certificates
	IPAddress  string
	Port       uint16
	MaxPlayers int // slots
	Players    int // slots in use: reserved or connected

	Status       Status
	StatusReason string // "INTERRUPTED" and the like; usually ""

	FleetID, FleetARN string
	Location          string
	AcceptsPlayers    bool // the player session creation policy is not DENY_ALL

	CreatedAt    time.Time
	TerminatedAt time.Time // zero until it ends
}

// Open reports whether a player could join at the moment that the Info describes.
func (i Info) Open() bool {
	return i.Status == Active && i.AcceptsPlayers && i.Players < i.MaxPlayers
}

// Connection is a reserved slot in a game session and its address (in O3DE
// SessionConnectionConfig).
type Connection struct {
	SessionID       string // game session ARN
	PlayerID        string
	PlayerSessionID string // what the game server validates; treat it as a secret
	DNSName         string
	IPAddress       string
	Port            uint16

	// ReservedUntil is when the slot is freed unless the game server has accepted the
	// player by then: 60 seconds after the reservation (API reference,
	// CreatePlayerSession). It is zero if the service does not report the time of the
	// reservation.
	ReservedUntil time.Time
}

// certified is the suffix of host names that a fleet's certificates cover.
const certified = ".amazongamelift.com"

// Host returns the host to connect to: the DNS name if a certificate can be valid for it
// or if there is no IP address, and the IP address otherwise.
func (c Connection) Host() string {
	if strings.HasSuffix(c.DNSName, certified) || c.IPAddress == "" {
		return c.DNSName
	}
	return c.IPAddress
}

// Addr returns Host and Port in the form that net.Dial takes.
func (c Connection) Addr() string {
	return net.JoinHostPort(c.Host(), strconv.Itoa(int(c.Port)))
}

// Connector is the game's own netcode (in O3DE ISessionHandlingClientRequests).
type Connector interface {
	// Connect joins the game server. It must send c.PlayerSessionID in its first message:
	// the game server validates it with the service.
	Connect(ctx context.Context, c Connection) error
	// Disconnect leaves the game server. Without a connection it does nothing.
	Disconnect(ctx context.Context) error
}
