package session

import "github.com/musterhq/muster/internal/store"

// hooks are what other packages do in the transactions that change game sessions and player
// sessions. All must be registered before the store is opened.
type hooks struct {
	activated, updated, ended, reached, moved []func(*store.Tx, *GameSession)
	players                                   []func(*store.Tx, *PlayerSession)
}

// OnUpdated registers f to be called in each transaction in which UpdateGameSession or
// the process changes a game session.
func (h *hooks) OnUpdated(f func(*store.Tx, *GameSession)) { h.updated = append(h.updated, f) }

// OnPlayer registers f to be called in each transaction that creates a player session or changes its
// status.
func (h *hooks) OnPlayer(f func(*store.Tx, *PlayerSession)) { h.players = append(h.players, f) }

// OnReachable registers f to be called in each transaction that changes whether the process of a game
// session is reachable.
func (h *hooks) OnReachable(f func(*store.Tx, *GameSession)) { h.reached = append(h.reached, f) }

// OnMoved registers f to be called in each transaction that changes the address at which players
// reach a game session.
func (h *hooks) OnMoved(f func(*store.Tx, *GameSession)) { h.moved = append(h.moved, f) }

// OnActivated registers f to be called in each transaction that makes a game session
// ACTIVE.
func (h *hooks) OnActivated(f func(*store.Tx, *GameSession)) { h.activated = append(h.activated, f) }

// OnEnded registers f to be called in each transaction that ends a game session.
func (h *hooks) OnEnded(f func(*store.Tx, *GameSession)) { h.ended = append(h.ended, f) }

func call[T any](tx *store.Tx, all []func(*store.Tx, T), changed T) {
	for _, f := range all {
		f(tx, changed)
	}
}
