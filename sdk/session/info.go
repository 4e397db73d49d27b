package session

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

// Status is where a game session is in its life, as the API spells it (API
// reference, GameSession).
type Status string

// The statuses of a game session.
const (
	Activating  Status = "ACTIVATING"  // a process has it and prepares
	Active      Status = "ACTIVE"      // players can be added
	Terminating Status = "TERMINATING" // it is being ended
	Terminated  Status = "TERMINATED"
	Error       Status = "ERROR"
)

// Info describes a game session (API reference, GameSession; in O3DE
// SessionConfig). It is a picture of one moment.
type Info struct {
	ID         string            // the game session's ARN
	Name       string            // label for people; need not be unique
	CreatorID  string            // who asked for it, as the caller named them
	Properties map[string]string // at most 16

	Data           string // what the creator handed to the game server
	MatchmakerData string // JSON by FlexMatch, see package matchdata; "" without a match

	DNSName    string // set where the fleet has TLS certificates
	IPAddress  string
	Port       uint16
	MaxPlayers int // slots
	Players    int // slots that are taken: reserved or connected

	Status       Status
	StatusReason string // "INTERRUPTED" and the like; mostly ""

	FleetID, FleetARN string
	Location          string
	AcceptsPlayers    bool // the player session creation policy is not DENY_ALL

	CreatedAt    time.Time
	TerminatedAt time.Time // zero while it lives
}

// Open tells whether a player could be added at the time of the picture.
func (i Info) Open() bool {
	return i.Status == Active && i.AcceptsPlayers && i.Players < i.MaxPlayers
}

// Connection is a reserved place in a game session and how to get there (in O3DE
// SessionConnectionConfig).
type Connection struct {
	SessionID       string // game session ARN
	PlayerID        string
	PlayerSessionID string // what the game server asks for; treat it as a secret
	DNSName         string
	IPAddress       string
	Port            uint16

	// ReservedUntil is when the place is given away unless the game server has
	// accepted the player: 60 seconds after the reservation (API reference,
	// CreatePlayerSession). Zero if the service does not tell when that was.
	ReservedUntil time.Time
}

// certified ends the host names that a fleet's certificates are made for.
const certified = ".amazongamelift.com"

// Host is where to connect: the DNS name if a certificate can be valid for it or
// nothing else is known, the IP address otherwise.
func (c Connection) Host() string {
	if strings.HasSuffix(c.DNSName, certified) || c.IPAddress == "" {
		return c.DNSName
	}
	return c.IPAddress
}

// Addr is Host and Port as net.Dial takes them.
func (c Connection) Addr() string {
	return net.JoinHostPort(c.Host(), strconv.Itoa(int(c.Port)))
}

// Connector is the game's own netcode (in O3DE ISessionHandlingClientRequests).
type Connector interface {
	// Connect joins the game server. It must send c.PlayerSessionID with its
	// first message: the game server has it accepted by the service.
	Connect(ctx context.Context, c Connection) error
	// Disconnect leaves the game server. Without a connection it does nothing.
	Disconnect(ctx context.Context) error
}
