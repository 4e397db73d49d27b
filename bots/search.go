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

var errNoneOpen = errors.New("no open game session")

func (b *bot) joinOpen(ctx context.Context) (session.Connection, error) {
	open, err := filter.Write(filter.And(filter.HasRoom(true), filter.Property(mark, filter.Eq, "yes")))
	if err != nil {
		return session.Connection{}, err
	}
	search := session.SearchRequest{
		Target: b.house.target(), Filter: open, Sort: filter.ByPlayers(filter.Descending), Max: tries, PageSize: tries,
	}
	for info, err := range b.client.Search(ctx, search) {
		if err != nil {
			return session.Connection{}, err
		}
		place, err := b.client.Reserve(ctx, session.JoinRequest{SessionID: info.ID, PlayerID: b.id})
		if errors.Is(err, session.ErrFull) || errors.Is(err, session.ErrNotActive) || errors.Is(err, session.ErrInvalid) {
			continue // another player was quicker, or the session has ended
		}
		return place, err
	}
	return session.Connection{}, errNoneOpen
}

func (b *bot) create(ctx context.Context) (session.Connection, error) {
	created, err := b.client.Create(ctx, session.CreateRequest{
		Target: b.house.target(), Name: "bots", MaxPlayers: b.opts.MatchSize, CreatorID: b.id,
		Properties: map[string]string{mark: "yes"},
	})
	if err != nil {
		return session.Connection{}, err
	}
	place, err := b.client.Reserve(ctx, session.JoinRequest{SessionID: created.Session.ID, PlayerID: b.id, WaitActive: time.Minute})
	if err != nil {
		return place, fmt.Errorf("join the game session just made: %w", err)
	}
	return place, nil
}
