package fleetiq

import (
	"strings"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// tables are the package's tables and indexes.
type tables struct {
	groups  *store.Table[Group]
	leaving *store.DueIndex[Group] // groups whose deletion goes on

	servers   *store.Table[GameServer]
	oldest    *store.Index[GameServer] // by group, in order of registration
	newest    *store.Index[GameServer] // the same, in reverse order
	free      *store.Index[GameServer] // those that can be claimed, by group and instance
	busy      *store.Index[GameServer] // those that are claimed or utilized, by group
	busyOn    *store.Index[GameServer] // the same, by instance
	claimed   *store.DueIndex[GameServer]
	unhealthy *store.DueIndex[GameServer]
	counts    *store.Sum[GameServer] // by group and utilization, and by these and instance
}

func newTables(st *store.Store) *tables {
	t := &tables{}
	t.groups = store.NewTable(st, store.TableSpec[Group]{Name: "game_server_group", Key: func(g *Group) string { return g.Name }})
	t.leaving = store.NewDueIndex(t.groups, "leaving", func(g *Group) time.Time { return g.Due })
	t.servers = store.NewTable(st, store.TableSpec[GameServer]{Name: "game_server", Key: func(v *GameServer) string { return v.ID }})
	t.oldest = store.NewIndex(t.servers, "oldest", func(v *GameServer, emit func(string)) { emit(store.Key(v.Group, v.order(false))) })
	t.newest = store.NewIndex(t.servers, "newest", func(v *GameServer, emit func(string)) { emit(store.Key(v.Group, v.order(true))) })
	t.free = store.NewIndex(t.servers, "free", func(v *GameServer, emit func(string)) {
		if !v.busy() {
			emit(store.Key(v.Group, v.InstanceID))
		}
	})
	t.busy = store.NewIndex(t.servers, "busy", func(v *GameServer, emit func(string)) {
		if v.busy() {
			emit(v.Group)
		}
	})
	t.busyOn = store.NewIndex(t.servers, "busy_on", func(v *GameServer, emit func(string)) {
		if v.busy() {
			emit(v.InstanceID)
		}
	})
	t.claimed = store.NewDueIndex(t.servers, "claimed", func(v *GameServer) time.Time { return v.ClaimedUntil })
	t.unhealthy = store.NewDueIndex(t.servers, "unhealthy", func(v *GameServer) time.Time { return v.LastHealthCheck.Add(HealthTime) })
	t.counts = store.NewSum(t.servers, "counts", func(v *GameServer, add func(string, int)) {
		add(store.Key(v.Group, string(v.Utilization)), 1)
		add(store.Key(v.Group, string(v.Utilization), v.InstanceID), 1)
	})
	return t
}

// order returns the key by which game servers of a group are listed.
func (v *GameServer) order(newestFirst bool) string {
	if !newestFirst {
		return v.Sequence
	}
	const digits = "0123456789abcdef"
	return strings.Map(func(r rune) rune {
		if i := strings.IndexRune(digits, r); i >= 0 {
			return rune(digits[len(digits)-1-i])
		}
		return r
	}, v.Sequence)
}
