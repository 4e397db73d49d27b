package lobby

import (
	"iter"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Request is the part that the rows of tickets and placements have in common. These rows
// outlive those of the matchmaker and the queue, which leave memory some minutes after
// their end.
type Request struct {
	ID      string    `json:"id"` // of the matchmaker's ticket or the queue's placement too
	Seq     int64     `json:"seq"`
	Change  string    `json:"change"` // orders the changes of all rows
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"` // ignored until it has ended
}

func (r *Request) request() *Request { return r }

const requestKept = time.Hour // after its end, or the last change after that

// requests is the table of the tickets, or that of the placements.
type requests[R any, P interface {
	*R
	request() *Request
	players() []string // who may see it
	connection() *Connection
	Over() bool
}] struct {
	*core
	kind    string // in refusals
	rows    *store.Table[R]
	of      *store.Index[R]    // by player
	playing *store.Index[R]    // with a game session, by that
	expires *store.DueIndex[R] // ended
}

func (s *requests[R, P]) register(table string) {
	s.rows = store.NewTable(s.st, store.TableSpec[R]{Name: table, Key: func(row *R) string { return P(row).request().ID }})
	s.of = store.NewIndex(s.rows, "player", func(row *R, emit func(string)) {
		for _, p := range P(row).players() {
			emit(p)
		}
	})
	s.playing = store.NewIndex(s.rows, "session", func(row *R, emit func(string)) {
		if id := P(row).connection().SessionID; id != "" {
			emit(id)
		}
	})
	s.expires = store.NewDueIndex(s.rows, "expires", func(row *R) (at time.Time) {
		if P(row).Over() {
			at = P(row).request().Expires
		}
		return at
	})
}

// Get returns a ticket or placement of the player. Errors: NotFound.
func (s *requests[R, P]) Get(player, id string) (*R, error) {
	row := s.rows.Get(s.st.View(), id)
	if row == nil || !slices.Contains(P(row).players(), player) {
		return nil, refuse(NotFound, "you have no "+s.kind+" "+id)
	}
	return row, nil
}

// Of yields the tickets or placements of a player, the oldest first.
func (s *requests[R, P]) Of(r store.Reader, player string) iter.Seq[*R] { return s.of.Equal(r, player) }

// openOf yields the tickets or placements of a player that have not ended.
func (s *requests[R, P]) openOf(r store.Reader, player string) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for row := range s.of.Equal(r, player) {
			if !P(row).Over() && !yield(row) {
				return
			}
		}
	}
}

func (s *requests[R, P]) current(row *R) *R {
	if now := s.rows.Get(s.st.View(), P(row).request().ID); now != nil {
		return now
	}
	return row
}

// put writes a changed row, and notifies the watchers of its players.
func (s *requests[R, P]) put(tx *store.Tx, row *R) {
	r := P(row).request()
	r.Seq++
	r.Change, r.Expires = tx.ID(""), tx.Now().Add(requestKept)
	s.rows.Put(tx, row)
	s.notify(tx, P(row).players())
}

// sweep deletes expired rows. A row never expires before its request has ended.
func (s *requests[R, P]) sweep(tx *store.Tx) {
	for row := range s.expires.Due(tx, tx.Now()) {
		s.rows.Delete(tx, P(row).request().ID)
	}
}
