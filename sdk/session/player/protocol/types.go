// Code generated from openapi.yaml. DO NOT EDIT.

package protocol

import (
	"encoding/json"
	"time"
)

// Problem: What went wrong (RFC 9457).
type Problem struct {
	Type              string    `json:"type"`                         // URI of the kind of problem
	Title             string    `json:"title"`                        // The kind of problem in words
	Status            int64     `json:"status"`                       // HTTP status
	Detail            string    `json:"detail,omitzero"`              // What is wrong with this request
	Instance          string    `json:"instance"`                     // The request, as X-Request-Id names it
	Code              string    `json:"code"`                         // The kind of problem, for programs
	RetryAfterSeconds int64     `json:"retry_after_seconds,omitzero"` // When to try again
	Until             time.Time `json:"until,omitzero"`               // When a ban ends
	TicketID          string    `json:"ticket_id,omitzero"`           // The ticket that is in the way
	ConflictToken     string    `json:"conflict_token,omitzero"`      // Of identity-in-use: lets the player who asked merge the two, once, within 5 minutes; not told where the other player is banned
}

// GuestLogin: A guest who comes back.
type GuestLogin struct {
	PlayerID    string `json:"player_id"`    // From the account’s creation
	GuestSecret string `json:"guest_secret"` // From the account’s creation
}

// ProviderLogin: What a provider gave to the client.
type ProviderLogin struct {
	Token    string `json:"token"`             // ID token, access token, Steam ticket in hex, or what the operator’s webhook understands
	Nonce    string `json:"nonce,omitzero"`    // The raw nonce that the token was asked for with
	Identity string `json:"identity,omitzero"` // Steam: the identity the ticket was made for
	Create   *bool  `json:"create,omitzero"`   // Make an account where there is none; default true
}

// MergeRequest: Which of two players to keep. The other must have no further account elsewhere, and is given up with its data.
type MergeRequest struct {
	ConflictToken string           `json:"conflict_token"` // From the refused link
	Keep          MergeRequestKeep `json:"keep"`           // The player who asks, or the one whom the account leads to
}

// MergeRequestKeep: The player who asks, or the one whom the account leads to
type MergeRequestKeep string

// The values of MergeRequestKeep.
const (
	MergeRequestKeepMine   MergeRequestKeep = "mine"
	MergeRequestKeepTheirs MergeRequestKeep = "theirs"
)

// RefreshRequest: A refresh token to use up.
type RefreshRequest struct {
	RefreshToken string `json:"refresh_token"` // The newest one of its login
}

// LogoutRequest: Which logins to end: the refresh token’s, or those of the access token.
type LogoutRequest struct {
	RefreshToken string `json:"refresh_token,omitzero"` // Ends its login
	All          bool   `json:"all,omitzero"`           // Ends all logins of the player; needs an access token
}

// LinkedIdentity: An account elsewhere.
type LinkedIdentity struct {
	Provider    string    `json:"provider"`     // Its provider
	SubjectHint string    `json:"subject_hint"` // The end of its name there
	LinkedAt    time.Time `json:"linked_at"`    // Since when
}

// Session: A login.
type Session struct {
	PlayerID              string           `json:"player_id"`                // The player
	Scope                 SessionScope     `json:"scope"`                    // What the player has proven
	AccessToken           string           `json:"access_token"`             // JWT for Authorization: Bearer
	AccessTokenExpiresIn  int64            `json:"access_token_expires_in"`  // Seconds
	RefreshToken          string           `json:"refresh_token"`            // Gives the next login, once
	RefreshTokenExpiresIn int64            `json:"refresh_token_expires_in"` // Seconds
	Created               bool             `json:"created"`                  // The account is new
	Identities            []LinkedIdentity `json:"identities"`               // Accounts elsewhere
	GuestSecret           string           `json:"guest_secret,omitzero"`    // Of a new guest account; shown once
}

// SessionScope: What the player has proven
type SessionScope string

// The values of SessionScope.
const (
	SessionScopeGuest         SessionScope = "guest"
	SessionScopeAuthenticated SessionScope = "authenticated"
)

// SocketTicket: Lets one WebSocket in.
type SocketTicket struct {
	Ticket    string `json:"ticket"`     // For the query of /ws
	ExpiresIn int64  `json:"expires_in"` // Seconds
}

// Player: The player’s own account.
type Player struct {
	PlayerID    string           `json:"player_id"`             // The player
	DisplayName string           `json:"display_name,omitzero"` // Need not be unique
	CreatedAt   time.Time        `json:"created_at"`            // Since when
	Scope       PlayerScope      `json:"scope"`                 // What the player has proven
	Identities  []LinkedIdentity `json:"identities"`            // Accounts elsewhere
}

// PlayerScope: What the player has proven
type PlayerScope string

// The values of PlayerScope.
const (
	PlayerScopeGuest         PlayerScope = "guest"
	PlayerScopeAuthenticated PlayerScope = "authenticated"
)

// PlayerChange: What to change.
type PlayerChange struct {
	DisplayName string `json:"display_name"` // 3 to 32 printable characters
}

// PublicPlayer: What anybody may know of a player.
type PublicPlayer struct {
	PlayerID    string              `json:"player_id"`             // The player
	DisplayName string              `json:"display_name,omitzero"` // Need not be unique
	Data        map[string]DataItem `json:"data"`                  // Public data by key
}

// PlayerLookup: Whom to look up.
type PlayerLookup struct {
	IDs []string `json:"ids"` // Players, at most 50
}

// PublicPlayers: What anybody may know of several players.
type PublicPlayers struct {
	Items []PublicPlayer `json:"items"` // In the order of the request, without players that do not exist
}

// DataItem: A value of a player’s data.
type DataItem struct {
	Value     json.RawMessage `json:"value"`      // Any JSON of at most 32 KiB
	Version   int64           `json:"version"`    // Rises by one with each write; also the ETag
	UpdatedAt time.Time       `json:"updated_at"` // When it was written
}

// DataItems: A namespace of a player’s data.
type DataItems struct {
	Items map[string]DataItem `json:"items"` // By key
}

// LatencySample: What was measured for a location.
type LatencySample struct {
	Location string              `json:"location"`         // Its name
	RTTMs    float64             `json:"rtt_ms"`           // Round trip in milliseconds
	Method   LatencySampleMethod `json:"method,omitzero"`  // How it was measured
	Receipt  string              `json:"receipt,omitzero"` // Signed by the beacon
}

// LatencySampleMethod: How it was measured
type LatencySampleMethod string

// The values of LatencySampleMethod.
const (
	LatencySampleMethodUDP   LatencySampleMethod = "udp"
	LatencySampleMethodTCP   LatencySampleMethod = "tcp"
	LatencySampleMethodHTTPS LatencySampleMethod = "https"
)

// LatencyReport: What was measured. Leave out what was not reached.
type LatencyReport struct {
	Samples []LatencySample `json:"samples"` // At most 64
}

// RejectedSample: A sample that does not count.
type RejectedSample struct {
	Location string               `json:"location"` // Its name
	Reason   RejectedSampleReason `json:"reason"`   // Why
}

// RejectedSampleReason: Why
type RejectedSampleReason string

// The values of RejectedSampleReason.
const (
	RejectedSampleReasonUnknownLocation RejectedSampleReason = "unknown-location"
	RejectedSampleReasonTooFar          RejectedSampleReason = "too-far"
	RejectedSampleReasonNotANumber      RejectedSampleReason = "not-a-number"
	RejectedSampleReasonRepeated        RejectedSampleReason = "repeated"
	RejectedSampleReasonReceiptInvalid  RejectedSampleReason = "receipt-invalid"
)

// LatencyResult: What counts, for 15 minutes.
type LatencyResult struct {
	Accepted map[string]int64 `json:"accepted"` // Milliseconds by location
	Rejected []RejectedSample `json:"rejected"` // The rest
}

// Location: A place where games can be.
type Location struct {
	Name  string `json:"name"`           // Its name
	UDP   string `json:"udp,omitzero"`   // HOST:PORT of a UDP beacon
	TCP   string `json:"tcp,omitzero"`   // HOST:PORT of a TCP beacon
	HTTPS string `json:"https,omitzero"` // URL that answers GET with 204
}

// Locations: Where games can be.
type Locations struct {
	Locations  []Location `json:"locations"`   // By name
	TTLSeconds int64      `json:"ttl_seconds"` // How long this may be kept
}

// ProviderInfo: A way to log in.
type ProviderInfo struct {
	Name string `json:"name"` // For paths
}

// MatchmakerInfo: A way to be matched.
type MatchmakerInfo struct {
	Name       string `json:"name"`       // For requests
	MinParty   int64  `json:"min_party"`  // Fewest players of a ticket
	MaxParty   int64  `json:"max_party"`  // Most players of a ticket
	Acceptance bool   `json:"acceptance"` // A match has to be accepted
}

// PoolInfo: Where game sessions without matchmaking come from.
type PoolInfo struct {
	Name      string `json:"name"`       // For requests
	CanCreate bool   `json:"can_create"` // Players may make game sessions
	CanList   bool   `json:"can_list"`   // Players may list and join game sessions
}

// ClientConfig: What a client has to know.
type ClientConfig struct {
	APIVersion     string           `json:"api_version"`      // Of this description
	ServerTime     time.Time        `json:"server_time"`      // Now
	Providers      []ProviderInfo   `json:"providers"`        // Ways to log in besides guest
	WebsocketURL   string           `json:"websocket_url"`    // For push
	PollIntervalMs int64            `json:"poll_interval_ms"` // How often to ask, where no long poll is used
	MaxWaitSeconds int64            `json:"max_wait_seconds"` // Longest wait of a long poll
	Matchmakers    []MatchmakerInfo `json:"matchmakers"`      // Ways to be matched
	Pools          []PoolInfo       `json:"pools"`            // Where game sessions without matchmaking come from
}

// TicketRequest: A request for a match.
type TicketRequest struct {
	Matchmaker string                     `json:"matchmaker"`          // One of the configuration’s
	PartyID    string                     `json:"party_id,omitzero"`   // Match this party; only its leader may ask
	Attributes map[string]json.RawMessage `json:"attributes,omitzero"` // Number, text, list of texts, or numbers by text; only those that the matchmaker takes from clients
	LatencyMs  map[string]float64         `json:"latency_ms,omitzero"` // Milliseconds by location; default: what was reported
	Team       string                     `json:"team,omitzero"`       // Only where the matchmaker lets players choose
}

// TicketPlayer: Who is on a ticket.
type TicketPlayer struct {
	PlayerID string `json:"player_id"`         // The player
	Team     string `json:"team,omitzero"`     // Once matched
	Accepted *bool  `json:"accepted,omitzero"` // Whether the player accepts the proposed match; null: no answer yet
}

// Acceptance: A proposed match waits for answers.
type Acceptance struct {
	Deadline time.Time `json:"deadline,omitzero"` // When it is given up
	Mine     *bool     `json:"mine"`              // The asking player’s answer
}

// Connection: Where to play. Only for the player who asks.
type Connection struct {
	SessionID       string   `json:"session_id"`         // The game session: the region, fleet, custom location and id of its ARN, with colons in between
	IP              string   `json:"ip,omitzero"`        // Its address: the IPv6 one for a client that comes over IPv6, if its machine has both
	Addresses       []string `json:"addresses,omitzero"` // All its IP addresses, that in ip first; a client that needs another kind takes that
	DNSName         string   `json:"dns_name,omitzero"`  // Its name, which TLS needs; ip where it has none
	Host            string   `json:"host"`               // dns_name, or else ip
	Port            int64    `json:"port"`               // Its port
	PlayerSessionID string   `json:"player_session_id"`  // To show to the game server, which accepts it once (AcceptPlayerSession)
}

// Ticket: A request for a match, and its outcome so far.
type Ticket struct {
	TicketID             string         `json:"ticket_id"`                       // Its name
	Matchmaker           string         `json:"matchmaker"`                      // As asked
	PartyID              string         `json:"party_id,omitzero"`               // As asked
	State                TicketState    `json:"state"`                           // Where it is
	Reason               string         `json:"reason,omitzero"`                 // Why it ended without a match
	CreatedAt            time.Time      `json:"created_at"`                      // When it was asked
	UpdatedAt            time.Time      `json:"updated_at"`                      // When this changed
	ExpiresAt            time.Time      `json:"expires_at"`                      // When it is forgotten
	EstimatedWaitSeconds int64          `json:"estimated_wait_seconds,omitzero"` // A guess
	Players              []TicketPlayer `json:"players"`                         // Who is matched together
	Acceptance           *Acceptance    `json:"acceptance,omitzero"`             // While a proposed match waits
	MatchID              string         `json:"match_id,omitzero"`               // Once proposed
	Connection           *Connection    `json:"connection,omitzero"`             // Once completed
	Seq                  int64          `json:"seq"`                             // Rises with each change; also the ETag
}

// TicketState: Where it is
type TicketState string

// The values of TicketState.
const (
	TicketStateQueued             TicketState = "queued"
	TicketStateSearching          TicketState = "searching"
	TicketStateRequiresAcceptance TicketState = "requires_acceptance"
	TicketStatePlacing            TicketState = "placing"
	TicketStateCompleted          TicketState = "completed"
	TicketStateFailed             TicketState = "failed"
	TicketStateCancelled          TicketState = "cancelled"
	TicketStateTimedOut           TicketState = "timed_out"
)

// Tickets: Tickets of a player.
type Tickets struct {
	Items []Ticket `json:"items"` // The newest first
}

// AcceptRequest: An answer to a proposed match.
type AcceptRequest struct {
	Accept bool `json:"accept"` // Yes or no
}

// PartyRequest: A new party.
type PartyRequest struct {
	Matchmaker string `json:"matchmaker"`   // That it will be matched with
	Max        int64  `json:"max,omitzero"` // Most members; default and most: the matchmaker’s
}

// PartyJoin: A way into a party.
type PartyJoin struct {
	Code string `json:"code"` // From a member
}

// MemberChange: A member’s own state.
type MemberChange struct {
	Ready      bool                       `json:"ready"`               // Agrees to be matched, for a minute
	Attributes map[string]json.RawMessage `json:"attributes,omitzero"` // As in TicketRequest
	LatencyMs  map[string]float64         `json:"latency_ms,omitzero"` // As in TicketRequest
}

// PartyMember: Who is in a party.
type PartyMember struct {
	PlayerID string `json:"player_id"` // The player
	Ready    bool   `json:"ready"`     // Agrees to be matched now
}

// Party: Players who want to be matched together.
type Party struct {
	PartyID    string        `json:"party_id"`   // Its name
	Code       string        `json:"code"`       // Lets others in
	Leader     string        `json:"leader"`     // Who may start
	Matchmaker string        `json:"matchmaker"` // That it will be matched with
	Max        int64         `json:"max"`        // Most members
	Members    []PartyMember `json:"members"`    // In order of joining
	ExpiresAt  time.Time     `json:"expires_at"` // When it ends unless used
}

// SessionRequest: A new game session.
type SessionRequest struct {
	Pool       string             `json:"pool"`                 // One of the configuration’s
	Name       string             `json:"name,omitzero"`        // For people
	MaxPlayers int64              `json:"max_players,omitzero"` // Default and most: the pool’s
	Properties map[string]string  `json:"properties,omitzero"`  // Only keys that the pool allows
	LatencyMs  map[string]float64 `json:"latency_ms,omitzero"`  // As in TicketRequest
}

// Placement: A game session on its way.
type Placement struct {
	PlacementID string         `json:"placement_id"`        // Its name
	Pool        string         `json:"pool"`                // As asked
	State       PlacementState `json:"state"`               // Where it is
	Reason      string         `json:"reason,omitzero"`     // Why it ended without a game session
	CreatedAt   time.Time      `json:"created_at"`          // When it was asked
	ExpiresAt   time.Time      `json:"expires_at"`          // When it is forgotten
	Connection  *Connection    `json:"connection,omitzero"` // Once fulfilled
	Seq         int64          `json:"seq"`                 // Rises with each change; also the ETag
}

// PlacementState: Where it is
type PlacementState string

// The values of PlacementState.
const (
	PlacementStatePending   PlacementState = "pending"
	PlacementStateFulfilled PlacementState = "fulfilled"
	PlacementStateCancelled PlacementState = "cancelled"
	PlacementStateTimedOut  PlacementState = "timed_out"
	PlacementStateFailed    PlacementState = "failed"
)

// GameSession: A game. It is a picture of one moment.
type GameSession struct {
	SessionID      string            `json:"session_id"`             // Its name: the region, fleet, custom location and id of its ARN, with colons in between
	Status         GameSessionStatus `json:"status"`                 // Where it is in its life
	StatusReason   string            `json:"status_reason,omitzero"` // Why it ended, where somebody ended it
	Name           string            `json:"name,omitzero"`          // For people
	Pool           string            `json:"pool,omitzero"`          // Where it came from, unless no player made it
	Properties     map[string]string `json:"properties"`             // As the player who created it set them; absent if no player did
	Players        int64             `json:"players"`                // Present and expected
	MaxPlayers     int64             `json:"max_players"`            // Most players
	AcceptsPlayers bool              `json:"accepts_players"`        // The game lets others in, while there is room
	Location       string            `json:"location"`               // Where it is
	CreatedAt      time.Time         `json:"created_at"`             // Since when
	EndedAt        time.Time         `json:"ended_at,omitzero"`      // Until when, once it is over
}

// GameSessionStatus: Where it is in its life
type GameSessionStatus string

// The values of GameSessionStatus.
const (
	GameSessionStatusActivating  GameSessionStatus = "ACTIVATING"
	GameSessionStatusActive      GameSessionStatus = "ACTIVE"
	GameSessionStatusTerminating GameSessionStatus = "TERMINATING"
	GameSessionStatusTerminated  GameSessionStatus = "TERMINATED"
)

// GameSessions: Games that can be joined.
type GameSessions struct {
	Items []GameSession `json:"items"` // At most as many as asked
}

// JoinRequest: A request to join a game session.
type JoinRequest struct {
	PlayerData string `json:"player_data,omitzero"` // For the game server; at most 2048 characters
}

// Reservation: A place in a game.
type Reservation struct {
	Connection    *Connection       `json:"connection"`              // Where to play
	Status        ReservationStatus `json:"status"`                  // Whether the player came already
	ReservedUntil time.Time         `json:"reserved_until,omitzero"` // When the place is given up
}

// ReservationStatus: Whether the player came already
type ReservationStatus string

// The values of ReservationStatus.
const (
	ReservationStatusReserved ReservationStatus = "RESERVED"
	ReservationStatusActive   ReservationStatus = "ACTIVE"
)

// Reservations: Games to come back to.
type Reservations struct {
	Items []Reservation `json:"items"` // The newest first
}

// BanRequest: Keeps a player out.
type BanRequest struct {
	Until  time.Time `json:"until"`           // A time that has passed lifts the ban
	Reason string    `json:"reason,omitzero"` // For other operators; at most 1000 bytes
}

// Message: A text frame of the WebSocket, either way.
type Message struct {
	Type   string          `json:"type"`            // What it is
	ID     string          `json:"id,omitzero"`     // Client: to know the answer by
	Re     string          `json:"re,omitzero"`     // Server: the id that this answers
	Cursor string          `json:"cursor,omitzero"` // Server: give it to auth as resume to go on from here
	Data   json.RawMessage `json:"data,omitzero"`   // Depends on the type
}

// SocketAuth: Data of the message auth.
type SocketAuth struct {
	AccessToken string `json:"access_token"`    // Of the player
	Resume      string `json:"resume,omitzero"` // The last cursor, to be sent what changed since
}

// SocketReady: Data of the message auth.ok.
type SocketReady struct {
	PlayerID  string    `json:"player_id"`  // The player
	ExpiresAt time.Time `json:"expires_at"` // When the access token ends; send auth again before
	Resumed   bool      `json:"resumed"`    // What follows is what changed since; else: what is under way
}

// SocketExpiring: Data of the message token.expiring.
type SocketExpiring struct {
	InSeconds int64 `json:"in_seconds"` // How long the access token is still valid
}

// SocketTicketID: Data of match.cancel and match.accept.
type SocketTicketID struct {
	TicketID string `json:"ticket_id"`       // The ticket
	Accept   bool   `json:"accept,omitzero"` // For match.accept
}
