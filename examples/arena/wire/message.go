package wire

// Limits of the protocol. A Snapshot that reaches all of them stays below MaxPacket.
const (
	Version      = 1
	MaxPacket    = 1200 // bytes; passes unfragmented nearly everywhere
	MaxSessionID = 256  // bytes; as the Server SDK allows
	MaxPlayers   = 64
	MaxShots     = 64
	MaxPickUps   = 16
)

// Kind is the fourth byte of a packet.
type Kind uint8

// The kinds of packets.
const (
	KindJoin Kind = iota + 1
	KindInput
	KindLeave
	KindWelcome
	KindRefused
	KindSnapshot
	KindOver
)

// Message is one of Join, Input, Leave, Welcome, Refused, Snapshot and Over.
type Message interface {
	kind() Kind
	append([]byte) []byte
}

// Direction is 0 for none and 1..8 for the compass from north, clockwise.
type Direction uint8

// Join requests admission with the player session that the game backend reserved.
type Join struct {
	PlayerSessionID string
}

// Input is what the player does until the next Input.
type Input struct {
	Key      uint64
	Sequence uint32 // increases with each Input; older ones that arrive late are ignored
	Move     Direction
	Fire     bool
}

// Leave ends the player's game.
type Leave struct {
	Key uint64
}

// Welcome admits a player.
type Welcome struct {
	Key           uint64 // to be repeated in Input and Leave
	Player        uint8
	TicksASecond  uint8
	Width, Height uint16
}

// Refusal is why a player was not admitted.
type Refusal uint8

// The reasons of Refused.
const (
	RefusedSession Refusal = iota + 1 // the player session is unknown, used, expired or not of this game
	RefusedFull                       // the arena is full
	RefusedEnded                      // the game session has ended
)

// String returns the reason as one word.
func (r Refusal) String() string {
	switch r {
	case RefusedSession:
		return "session"
	case RefusedFull:
		return "full"
	case RefusedEnded:
		return "ended"
	}
	return "unknown"
}

// Refused rejects a player.
type Refused struct {
	Reason Refusal
}

// Player is a player in a Snapshot. Health 0 means waiting to come back.
type Player struct {
	ID     uint8
	X, Y   uint16
	Facing Direction
	Health uint8
	Score  uint16
}

// Shot is a shot in flight.
type Shot struct {
	X, Y   uint16
	Facing Direction
}

// PickUp is an item to collect.
type PickUp struct {
	X, Y uint16
}

// Snapshot is the whole arena at a tick.
type Snapshot struct {
	Tick      uint32
	LastInput uint32 // Sequence of the receiver's newest Input
	Players   []Player
	Shots     []Shot
	PickUps   []PickUp
}

// Ending is why a player's game is over.
type Ending uint8

// The reasons of Over.
const (
	OverLeft        Ending = iota + 1 // the player left
	OverFinished                      // the game session's time is up
	OverTerminating                   // the server was told to stop
	OverSilent                        // nothing was heard from the player for too long
)

// String returns the reason as one word.
func (e Ending) String() string {
	switch e {
	case OverLeft:
		return "left"
	case OverFinished:
		return "finished"
	case OverTerminating:
		return "terminating"
	case OverSilent:
		return "silent"
	}
	return "unknown"
}

// Score is a player's score when the game is over.
type Score struct {
	Player uint8
	Score  uint16
}

// Over ends the game for the receiver.
type Over struct {
	Reason Ending
	Scores []Score
}

func (Join) kind() Kind     { return KindJoin }
func (Input) kind() Kind    { return KindInput }
func (Leave) kind() Kind    { return KindLeave }
func (Welcome) kind() Kind  { return KindWelcome }
func (Refused) kind() Kind  { return KindRefused }
func (Snapshot) kind() Kind { return KindSnapshot }
func (Over) kind() Kind     { return KindOver }
