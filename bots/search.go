package bots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/filter"
)

// mark is the game property that identifies the bots' game sessions.
const mark = "bots"

// tries is how many open sessions a bot tries before it creates one.
const tries = 5

// seekSession joins an open game session, the fullest first, and creates one if there
// is none.
func (b *bot) seekSession(ctx context.Context) (session.Connection, error) {
	for attempt := 0; ; attempt++ {
		place, err := b.joinOpen(ctx)
		if errors.Is(err, errNoneOpen) {
			place, err = b.create(ctx)
		}
		if err == nil || !worthWaiting(err) {
			return place, err
		}
		b.move(waiting)
		if !pause(ctx, attempt) {
			return place, err
		}
	}
}

// worthWaiting reports whether an error is temporary.
func worthWaiting(err error) bool {
	return worthRepeating(err) || errors.Is(err, session.ErrNoCapacity) || errors.Is(err, session.ErrLimit)
}

// gameSession is a GameSession.
type gameSession struct {
	ID     string `json:"GameSessionId"`
	Status session.Status
}

var errNoneOpen = errors.New("no open game session")

func (b *bot) joinOpen(ctx context.Context) (session.Connection, error) {
	open, err := filter.Write(filter.And(filter.HasRoom(true), filter.Property(mark, filter.Eq, "yes")))
	if err != nil {
		return session.Connection{}, err
	}
	var found struct{ GameSessions []gameSession }
	err = b.api.call(ctx, "SearchGameSessions", members{
		"FleetId": b.house.fleetID, "Location": b.house.location, "Limit": tries,
		"FilterExpression": open, "SortExpression": filter.ByPlayers(filter.Descending),
	}, &found)
	if err != nil {
		return session.Connection{}, err
	}
	for _, g := range found.GameSessions {
		place, err := b.reserve(ctx, g.ID)
		if errors.Is(err, session.ErrFull) || errors.Is(err, session.ErrNotActive) || errors.Is(err, session.ErrInvalid) {
			continue // another player was quicker, or the session has ended
		}
		return place, err
	}
	return session.Connection{}, errNoneOpen
}

func (b *bot) create(ctx context.Context) (session.Connection, error) {
	var created struct{ GameSession gameSession }
	err := b.api.call(ctx, "CreateGameSession", members{
		"FleetId": b.house.fleetID, "Location": b.house.location, "Name": "bots", "CreatorId": b.id,
		"MaximumPlayerSessionCount": b.opts.MatchSize, "GameProperties": []members{{"Key": mark, "Value": "yes"}},
	}, &created)
	if err != nil {
		return session.Connection{}, err
	}
	if err = b.awaitActive(ctx, created.GameSession.ID); err != nil {
		return session.Connection{}, fmt.Errorf("wait for the game session just made: %w", err)
	}
	return b.reserve(ctx, created.GameSession.ID)
}

// activationTimeout is how long a game session may be prepared before the bot gives up.
const activationTimeout = time.Minute

func (b *bot) awaitActive(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, activationTimeout)
	defer cancel()
	for attempt := 0; ; attempt++ {
		var found struct{ GameSessions []gameSession }
		if err := b.api.call(ctx, "DescribeGameSessions", members{"GameSessionId": id}, &found); err != nil {
			return err
		}
		if len(found.GameSessions) == 0 {
			return session.ErrNotFound
		}
		status := found.GameSessions[0].Status
		if status == session.Active {
			return nil
		}
		if status != session.Activating || !pause(ctx, attempt) {
			return fmt.Errorf("%w: it is %s", session.ErrNotActive, status)
		}
	}
}

// reserve takes a slot in a game session.
func (b *bot) reserve(ctx context.Context, gameSession string) (session.Connection, error) {
	var out struct{ PlayerSession playerSession }
	err := b.api.call(ctx, "CreatePlayerSession", members{"GameSessionId": gameSession, "PlayerId": b.id}, &out)
	return out.PlayerSession.connection(gameSession, out.PlayerSession.address), err
}
