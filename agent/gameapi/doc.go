// Package gameapi is the HTTP interface for game servers without a Server SDK, in any
// language: a program of this machine says by it what it would say by an SDK.
//
//	starting ──POST /ready──▶ ready ──a game session is assigned──▶ activating ──POST /session/activate──▶ active
//	any of them ──Muster requests the end──▶ ending ──POST /end──▶ ended
//
// A process gets the address and a token of its own in MUSTER_GAME_URL and
// MUSTER_GAME_TOKEN. Until it calls ready, nothing is known of it here but the token. With
// ready, this package connects the process to Muster (package gamelink), and sends its
// heartbeats from then on: what Muster sees is a process with a Server SDK 5. What Muster
// says is in the answer of GET /session, which waits until there is something new.
//
// The state of a process is kept in a file, so that the next agent continues where a
// former one stopped: the address, the token and the game session are the same.
//
// Only programs of this machine, and its containers, reach the interface. Web pages do
// not, whatever address they are loaded from: the Host header must be the address itself,
// and a request with an Origin is refused.
package gameapi
