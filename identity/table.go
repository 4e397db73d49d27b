package identity

import (
	"time"

	"github.com/musterhq/muster/internal/store"
)

// tables holds the package's tables and indexes.
type tables struct {
	players       *store.Table[Player]
	mergedInto    *store.Index[Player] // lost players, by kept player
	playerPurge   *store.Index[Player] // merged players, by when they are removed
	playerIdle    *store.Index[Player] // players with a guest login, by IdleCheck
	links         *store.Table[Link]
	linksOf       *store.Index[Link] // by player
	families      *store.Table[Family]
	familiesOf    *store.Index[Family] // by player
	familyExpires *store.Index[Family]
	used          *store.Table[usedProof]
	usedExpires   *store.Index[usedProof]
	keys          *store.Table[SigningKey]
	data          *store.Table[Datum]
	conflicts     *store.Table[conflict] // by requesting player
	conflictEnds  *store.Index[conflict]
}

// usedProof records a provider's token until it would be refused anyway.
type usedProof struct {
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
}

func newTables(st *store.Store) tables {
	var t tables
	t.players = store.NewTable(st, store.TableSpec[Player]{Name: "player", Key: func(p *Player) string { return p.ID }})
	t.mergedInto = store.NewIndex(t.players, "merged_into", func(p *Player, emit func(string)) {
		if p.MergedInto != "" {
			emit(p.MergedInto)
		}
	})
	t.playerPurge = store.NewIndex(t.players, "purge", func(p *Player, emit func(string)) {
		if p.MergedInto != "" {
			emit(store.TimeKey(p.Purge))
		}
	})
	t.playerIdle = store.NewIndex(t.players, "idle_check", func(p *Player, emit func(string)) {
		if len(p.GuestSecret) > 0 && p.MergedInto == "" {
			emit(store.TimeKey(p.IdleCheck))
		}
	})
	t.links = store.NewTable(st, store.TableSpec[Link]{Name: "player_link", Key: (*Link).key})
	t.linksOf = store.NewIndex(t.links, "player", func(l *Link, emit func(string)) { emit(l.PlayerID) })
	t.families = store.NewTable(st, store.TableSpec[Family]{Name: "player_token", Key: func(f *Family) string { return f.ID }})
	t.familiesOf = store.NewIndex(t.families, "player", func(f *Family, emit func(string)) { emit(f.PlayerID) })
	t.familyExpires = store.NewIndex(t.families, "expires", func(f *Family, emit func(string)) { emit(store.TimeKey(f.Expires)) })
	t.used = store.NewTable(st, store.TableSpec[usedProof]{Name: "player_proof", Key: func(u *usedProof) string { return u.Hash }})
	t.usedExpires = store.NewIndex(t.used, "expires", func(u *usedProof, emit func(string)) { emit(store.TimeKey(u.Expires)) })
	t.keys = store.NewTable(st, store.TableSpec[SigningKey]{Name: "player_key", Key: func(k *SigningKey) string { return k.ID }})
	t.data = store.NewTable(st, store.TableSpec[Datum]{Name: "player_data", Key: (*Datum).id})
	t.conflicts = store.NewTable(st, store.TableSpec[conflict]{Name: "player_conflict", Key: func(c *conflict) string { return c.PlayerID }})
	t.conflictEnds = store.NewIndex(t.conflicts, "expires", func(c *conflict, emit func(string)) { emit(store.TimeKey(c.expires())) })
	return t
}
