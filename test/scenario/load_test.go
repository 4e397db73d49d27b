package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/node"
)

// worker creates game sessions and works with them, one call at a time, so that it
// knows in which order its requests were acknowledged.
type worker struct {
	number int
	place  *node.Place
	host   *host
	rand   *rand.Rand
	games  []*game
	doubts []string // tokens of creations without an answer
	count  int      // names used so far
	calls  int      // acknowledged calls

	// patient makes it wait for the answer to its last request, which a server that hangs
	// would otherwise carry out later.
	patient bool
}

// run works until ctx ends.
func (w *worker) run(ctx context.Context) {
	work := ctx
	if w.patient {
		work = context.WithoutCancel(ctx)
	}
	for ctx.Err() == nil {
		if err := w.step(work); err == nil {
			w.calls++
		}
	}
}

func (w *worker) step(ctx context.Context) error {
	g := w.pick()
	if g == nil || w.rand.IntN(6) == 0 {
		return w.create(ctx)
	}
	g.touched = true
	switch n := w.rand.IntN(20); {
	case n < 8:
		return w.join(ctx, g)
	case n < 18:
		return w.rename(ctx, g)
	}
	return w.terminate(ctx, g)
}

// pick returns a living game, and updates which have become active.
func (w *worker) pick() *game {
	var live []*game
	for _, g := range w.games {
		if p := w.host.on(g.port); p != nil && !g.activated {
			g.activated, _ = p.acknowledged()
		}
		if g.live() {
			live = append(live, g)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return live[w.rand.IntN(len(live))]
}

func (w *worker) name(kind string) string {
	w.count++
	return fmt.Sprintf("%s-%d-%d", kind, w.number, w.count)
}

func (w *worker) create(ctx context.Context) error {
	token := w.name("game")
	g, err := w.place.TryCreate(ctx, 100000, func(in *gamelift.CreateGameSessionInput) { in.IdempotencyToken = &token })
	if err == nil {
		w.games = append(w.games, adopted(g))
		return nil
	}
	if !answered(err) {
		w.doubts = append(w.doubts, token)
	}
	pause(ctx) // there may be no free process
	return err
}

// adopted returns the model of an existing game session.
func adopted(g *types.GameSession) *game {
	return &game{id: *g.GameSessionId, port: *g.Port, players: map[string]*player{}, touched: true}
}

// answered reports whether an error is a refusal by Muster, which means that nothing
// happened. After an internal error that is unknown.
func answered(err error) bool {
	var code interface{ ErrorCode() string }
	return asError(err, &code) && code.ErrorCode() != "InternalServiceException"
}

// join reserves a slot and has the server accept the player.
func (w *worker) join(ctx context.Context, g *game) error {
	id := w.name("player")
	out, err := w.place.Client.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: &g.id, PlayerId: &id})
	if err != nil {
		return err
	}
	p := &player{id: id}
	g.players[*out.PlayerSession.PlayerSessionId] = p
	if w.rand.IntN(2) == 0 {
		return nil
	}
	if err := w.host.on(g.port).Accept(ctx, g.id, *out.PlayerSession.PlayerSessionId); err != nil {
		return err
	}
	p.accepted = true
	return nil
}

func (w *worker) rename(ctx context.Context, g *game) error {
	name := w.name("name")
	g.doubtful = append(g.doubtful, name)
	_, err := w.place.Client.UpdateGameSession(ctx, &gamelift.UpdateGameSessionInput{GameSessionId: &g.id, Name: &name})
	if err == nil {
		g.name, g.doubtful = name, nil
	}
	return err
}

func (w *worker) terminate(ctx context.Context, g *game) error {
	_, err := w.place.Client.TerminateGameSession(ctx, &gamelift.TerminateGameSessionInput{
		GameSessionId: &g.id, TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	g.terminated, g.doubtfully = err == nil, err != nil
	return err
}
