package bots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player"
)

type bot struct {
	*crew
	id    string
	seed  uint64
	stage stage

	me       *player.Client // with Players, once it has logged in
	matching session.Matchmaking
	tracker  session.Tracker
}

// Outcome is a bot's result.
type Outcome struct {
	PlayerID string
	Games    int           // played to their end
	Attempts int           // to join a game, including the successful ones
	Lost     int           // games that disappeared during play
	Waited   time.Duration // for the last game: from the request to being admitted
	Failure  string        // "" if it played all games
}

func (b *bot) move(to stage) {
	b.stages.move(b.stage, to)
	b.stage = to
}

func (b *bot) live(ctx context.Context) Outcome {
	o := Outcome{}
	for o.Games < b.opts.Games {
		if err := b.game(ctx, &o); err != nil {
			o.Failure = err.Error()
			break
		}
		o.Games++
	}
	o.PlayerID = b.id
	if o.Failure != "" {
		b.move(failed)
	} else {
		b.move(done)
	}
	return o
}

// game joins a game and plays it to its end. It retries until Patience has passed; the
// error is the last obstacle.
func (b *bot) game(ctx context.Context, o *Outcome) error {
	patient, cancel := context.WithTimeout(ctx, b.opts.Patience)
	defer cancel()
	begin := time.Now()
	var trouble error
	for attempt := 0; ; attempt++ {
		o.Attempts++
		place, err := b.seek(patient)
		if err == nil {
			err = b.play(ctx, place, o, begin)
		}
		if err == nil {
			return nil
		}
		if patient.Err() == nil || trouble == nil {
			trouble = err
		}
		if final(err) || !pause(patient, attempt) {
			return fmt.Errorf("after %v: %w", time.Since(begin).Round(time.Second), trouble)
		}
	}
}

// final reports whether retrying cannot help.
func final(err error) bool {
	return errors.Is(err, session.ErrUnauthorized) || errors.Is(err, session.ErrInvalid)
}

func (b *bot) seek(ctx context.Context) (session.Connection, error) {
	if b.opts.Via == Players {
		if err := b.enter(ctx); err != nil {
			return session.Connection{}, err
		}
	}
	b.move(asking)
	if b.opts.Via == Sessions {
		return b.seekSession(ctx)
	}
	return b.seekMatch(ctx)
}

// play connects with the player session and plays. Only a game played to the bot's
// own end, or to the game's, is a success.
func (b *bot) play(ctx context.Context, place session.Connection, o *Outcome, begin time.Time) error {
	b.move(connecting)
	ending, reason, err := b.program.Play(ctx, Game{
		Address: place.Addr(), PlayerSessionID: place.PlayerSessionID, For: b.opts.For,
		ActEvery: 200 * time.Millisecond, Seed: b.seed,
		Joined: func() {
			o.Waited = time.Since(begin)
			b.move(playing)
		},
	})
	if err != nil {
		return err
	}
	switch ending {
	case Played:
		return nil
	case Lost:
		o.Lost++
		return fmt.Errorf("the game server at %s fell silent", place.Addr())
	case Refused:
		return fmt.Errorf("the game server at %s refused the player session: %s", place.Addr(), reason)
	case Unanswered:
		return fmt.Errorf("the game server at %s did not answer", place.Addr())
	}
	return fmt.Errorf("connect to %s: %s %s", place.Addr(), ending, reason)
}
