package scenario

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// game is what the test knows about one game session: what was acknowledged must be
// true; what was not may be.
type game struct {
	id         string
	port       int32
	name       string   // acknowledged
	doubtful   []string // names of updates without an answer
	activated  bool     // the server's ActivateGameSession was acknowledged
	terminated bool     // TerminateGameSession was acknowledged
	doubtfully bool     // TerminateGameSession was called and not answered
	ended      bool     // the server's TerminateServerProcess was acknowledged
	players    map[string]*player
	touched    bool // in this round
}

// player is an acknowledged player session.
type player struct {
	id       string // of the player
	accepted bool   // AcceptPlayerSession was acknowledged
}

// live reports whether the game can be used.
func (g *game) live() bool { return g.activated && !g.terminated && !g.doubtfully }

// check compares a game session that was read with what was acknowledged, and adopts
// what was in doubt.
func (g *game) check(now types.GameSession) error {
	if *now.Port != g.port {
		return fmt.Errorf("game session %s is on port %d, before on %d", g.id, *now.Port, g.port)
	}
	name := ""
	if now.Name != nil {
		name = *now.Name
	}
	if name != g.name && !slices.Contains(g.doubtful, name) {
		return fmt.Errorf("game session %s is named %q; %q was acknowledged, %q were in doubt", g.id, name, g.name, g.doubtful)
	}
	g.name, g.doubtful = name, nil
	return g.checkStatus(now.Status)
}

func (g *game) checkStatus(now types.GameSessionStatus) error {
	const activating, active, terminating, terminated = types.GameSessionStatusActivating, types.GameSessionStatusActive,
		types.GameSessionStatusTerminating, types.GameSessionStatusTerminated
	var may []types.GameSessionStatus
	switch {
	case g.ended:
		may = []types.GameSessionStatus{terminated}
	case g.terminated:
		may = []types.GameSessionStatus{terminating, terminated}
	case g.doubtfully && g.activated:
		may = []types.GameSessionStatus{active, terminating, terminated}
	case g.activated:
		may = []types.GameSessionStatus{active}
	default: // the start may have been lost, and then the activation times out
		may = []types.GameSessionStatus{activating, active, terminating, terminated}
	}
	if !slices.Contains(may, now) {
		return fmt.Errorf("game session %s is %s, want one of %v (%+v)", g.id, now, may, *g)
	}
	g.activated = g.activated || now == active
	g.terminated = g.terminated || now == terminating || now == terminated
	g.doubtfully = false
	return nil
}

// checkPlayer compares a player session with what was acknowledged.
func (g *game) checkPlayer(now types.PlayerSession) error {
	p := g.players[*now.PlayerSessionId]
	if p == nil {
		return nil // its creation was in doubt
	}
	if *now.PlayerId != p.id || *now.GameSessionId != g.id {
		return fmt.Errorf("player session %s is of player %s in %s, before of %s in %s", *now.PlayerSessionId, *now.PlayerId, *now.GameSessionId, p.id, g.id)
	}
	if p.accepted && now.Status != types.PlayerSessionStatusActive && now.Status != types.PlayerSessionStatusCompleted {
		return fmt.Errorf("player session %s was accepted and is %s", *now.PlayerSessionId, now.Status)
	}
	return nil
}
