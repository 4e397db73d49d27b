package identity

import (
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/refusal"
	"github.com/musterhq/muster/internal/store"
)

// Player is an account.
type Player struct {
	ID           string    `json:"id"` // UUID version 7; the PlayerId of the GameLift API
	DisplayName  string    `json:"display_name,omitzero"`
	Created      time.Time `json:"created"`
	GuestSecret  []byte    `json:"guest_secret,omitzero"` // SHA-256; empty if there is no guest login
	TokenVersion int       `json:"token_version,omitzero"`
	BannedUntil  time.Time `json:"banned_until,omitzero"`
	BannedAt     time.Time `json:"banned_at,omitzero"` // when BannedUntil was set
	BanReason    string    `json:"ban_reason,omitzero"`
	MergedInto   string    `json:"merged_into,omitzero"`  // the player who was kept; this one has ended
	Purge        time.Time `json:"purge,omitzero"`        // of a merged player: when row and data are removed
	DataDeleted  int64     `json:"data_deleted,omitzero"` // the highest version of deleted data
	IdleCheck    time.Time `json:"idle_check,omitzero"`   // of a player with a guest login: when to check whether the account is still used
}

// Banned reports whether the player may not log in at a time.
func (p *Player) Banned(now time.Time) bool { return p.BannedUntil.After(now) }

// banned is the refusal for a player who is banned.
func (p *Player) banned() error {
	return &refusal.Refusal{Code: Banned, Message: "this account is banned until " + p.BannedUntil.UTC().Format(time.RFC3339), Until: p.BannedUntil}
}

// players is the table of accounts.
type players struct {
	events     *event.Log
	table      *store.Table[Player]
	mergedInto *store.Index[Player]      // lost players, by kept player
	purge      *store.DueIndex[Player]   // merged players, by when they are removed
	banned     *store.Index[Player]      // players who are or were banned
	idle       *store.DueIndex[Player]   // players with a guest login, by IdleCheck
	out        []func(*store.Tx, string) // called for players who are banned, deleted or merged away
}

func newPlayers(st *store.Store, events *event.Log) *players {
	p := &players{events: events}
	p.table = store.NewTable(st, store.TableSpec[Player]{Name: "player", Key: func(p *Player) string { return p.ID }})
	p.mergedInto = store.NewIndex(p.table, "merged_into", func(p *Player, emit func(string)) {
		if p.MergedInto != "" {
			emit(p.MergedInto)
		}
	})
	p.purge = store.NewDueIndex(p.table, "purge", func(p *Player) time.Time { return p.Purge })
	p.banned = store.NewIndex(p.table, "banned", func(p *Player, emit func(string)) {
		if !p.BannedUntil.IsZero() {
			emit(isBanned)
		}
	})
	p.idle = store.NewDueIndex(p.table, "idle_check", func(p *Player) time.Time {
		switch {
		case len(p.GuestSecret) == 0 || p.MergedInto != "":
			return time.Time{}
		case p.IdleCheck.IsZero(): // created before guests were checked
			return p.Created
		}
		return p.IdleCheck
	})
	return p
}

// isBanned is the key of the index of players who are or were banned.
const isBanned = "banned"

// account returns a player, or nil if there is none or it was merged into another.
func (p *players) account(r store.Reader, id string) *Player {
	found := p.table.Get(r, id)
	if found == nil || found.MergedInto != "" {
		return nil
	}
	return found
}

// missing is the refusal for an id for which account returns nil. The operator's
// backend, which may hold the id of a merged player, learns which player was kept.
func (p *players) missing(r store.Reader, id string) error {
	if found := p.table.Get(r, id); found != nil {
		return refuse(NotFound, "player %s was merged into %s", id, found.MergedInto)
	}
	return refuse(NotFound, "player %s does not exist", id)
}

func (p *players) create(tx *store.Tx) *Player {
	created := &Player{ID: tx.ID(""), Created: tx.Now()}
	p.events.Append(tx, event.Event{Code: event.PlayerCreated, Resource: created.ID})
	return created
}

func (p *players) notifyOut(tx *store.Tx, playerID string) {
	for _, f := range p.out {
		f(tx, playerID)
	}
}

// idleStep is by how much a login must postpone the next check for the change to be
// written, so that frequent logins do not cause frequent writes.
const idleStep = 24 * time.Hour

// seen postpones the check of a guest who logs in by keep; below 0 there is none.
func (p *players) seen(tx *store.Tx, guest *Player, keep time.Duration) {
	next := tx.Now().Add(keep)
	if keep >= 0 && len(guest.GuestSecret) > 0 && next.Sub(guest.IdleCheck) >= idleStep {
		p.checkAt(tx, guest, next)
	}
}

// checkAt sets when to check whether an account is still used.
func (p *players) checkAt(tx *store.Tx, old *Player, next time.Time) {
	later := *old
	later.IdleCheck = next
	p.table.Put(tx, &later)
}

// Link is an external account that is linked to a player.
type Link struct {
	Provider  string    `json:"provider"`
	Subject   string    `json:"subject"` // the account's name at the provider
	PlayerID  string    `json:"player_id"`
	Linked    time.Time `json:"linked"`
	LastLogin time.Time `json:"last_login"`
}

func (l *Link) key() string { return linkKey(l.Provider, l.Subject) }

func linkKey(provider, subject string) string { return provider + "|" + subject }

// SubjectHint returns enough of the subject for its owner to recognize it.
func (l *Link) SubjectHint() string {
	if n := len(l.Subject); n > 4 {
		return "…" + l.Subject[n-4:]
	}
	return "…"
}

// links is the table of external accounts.
type links struct {
	events *event.Log
	table  *store.Table[Link]
	player *store.Index[Link] // by player
}

func newLinks(st *store.Store, events *event.Log) *links {
	l := &links{events: events, table: store.NewTable(st, store.TableSpec[Link]{Name: "player_link", Key: (*Link).key})}
	l.player = store.NewIndex(l.table, "player", func(l *Link, emit func(string)) { emit(l.PlayerID) })
	return l
}

func (l *links) of(r store.Reader, playerID string) iter.Seq[*Link] {
	return l.player.Equal(r, playerID)
}

func (l *links) at(r store.Reader, playerID, provider string) *Link {
	for link := range l.of(r, playerID) {
		if link.Provider == provider {
			return link
		}
	}
	return nil
}

// scope returns the scope of a player's tokens: a player with a linked external account
// is authenticated.
func (l *links) scope(r store.Reader, playerID string) string {
	if l.player.First(r, playerID) != nil {
		return ScopeAuthenticated
	}
	return ScopeGuest
}

func (l *links) put(tx *store.Tx, link *Link) {
	l.table.Put(tx, link)
	l.events.Append(tx, event.Event{Code: event.PlayerLinked, Resource: link.PlayerID, Message: link.Provider})
}

// create links an account that is linked to no player.
func (l *links) create(tx *store.Tx, playerID, provider, subject string) *Link {
	link := &Link{Provider: provider, Subject: subject, PlayerID: playerID, Linked: tx.Now(), LastLogin: tx.Now()}
	l.put(tx, link)
	return link
}
