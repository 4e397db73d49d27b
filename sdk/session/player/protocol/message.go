package protocol

import "encoding/json"

// JSON is any JSON value, as it was sent.
type JSON = json.RawMessage

// Base is the path of the player API below the base URL of the server.
const Base = "/player/v1"

// OperatorBase begins the paths for operators' backends, whose requests are signed.
const OperatorBase = Base + "/server/"

// Subprotocol is the subprotocol of the WebSocket at Base + "/ws".
const Subprotocol = "muster.player.v1"

// Types of WebSocket messages. A client sends those without "server only".
const (
	MessageAuth      = "auth"        // SocketAuth; the first message, and again before the token expires
	MessageReady     = "auth.ok"     // server only: SocketReady
	MessagePing      = "ping"        // any data
	MessagePong      = "pong"        // server only: the data of the ping
	MessageStart     = "match.start" // TicketRequest
	MessageCancel    = "match.cancel"
	MessageAccept    = "match.accept"
	MessageTicket    = "match.ticket" // server only: Ticket, with each change and as an answer
	MessageParty     = "party"        // server only: Party, with each change
	MessagePartyLeft = "party.left"   // server only, no data: the player is no longer in a party
	MessagePlacement = "placement"    // server only: Placement, with each change
	MessageExpiring  = "token.expiring"
	MessageError     = "error" // server only: Problem
)

// Close codes of the WebSocket (RFC 6455, 7.4.2: those of applications).
const (
	CloseBadMessage   = 4400
	CloseUnauthorized = 4401 // no token, or it expired
	CloseAuthTimeout  = 4408
	CloseReplaced     = 4409 // the player opened too many newer connections
	CloseRate         = 4429
)
