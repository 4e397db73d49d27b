package identity

import (
	"context"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/musterhq/muster/internal/store"
)

// Namespace says who may read and write a player's data.
type Namespace string

// The namespaces.
const (
	Private Namespace = "private" // the player reads and writes
	Public  Namespace = "public"  // the player writes, everyone reads
	Server  Namespace = "server"  // game servers and operators write, the player reads; holds matchmaking attributes
	Secret  Namespace = "secret"  // game servers and operators only
)

// Valid reports whether n is a namespace.
func (n Namespace) Valid() bool { return n == Private || n == Public || n == Server || n == Secret }

// PlayerReads and PlayerWrites report what the owner may do.
func (n Namespace) PlayerReads() bool  { return n == Private || n == Public || n == Server }
func (n Namespace) PlayerWrites() bool { return n == Private || n == Public }

// Limits of the data of one player in one namespace.
const (
	MaxValue     = 32 << 10  // bytes of one value
	MaxNamespace = 256 << 10 // bytes of all values
	MaxKeys      = 100
)

var dataKey = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Datum is one value of a player's data.
type Datum struct {
	PlayerID  string    `json:"player_id"`
	Namespace Namespace `json:"namespace"`
	Key       string    `json:"key"`
	Value     string    `json:"value"`   // JSON text; kept as text, so that it is returned as it was stored
	Version   int64     `json:"version"` // increases by one with each write
	First     int64     `json:"first"`   // the version with which it was created
	Updated   time.Time `json:"updated"`
}

func (d *Datum) id() string { return dataID(d.PlayerID, d.Namespace, d.Key) }

func dataID(player string, ns Namespace, key string) string {
	return player + "/" + string(ns) + "/" + key
}

// Data is what games and operators store about players, with versions.
type Data struct {
	st      *store.Store
	players *players
	home    func(playerID string, ns Namespace, key string) (*Datum, error) // nil: the data are here
	table   *store.Table[Datum]
	put     *store.Command[putArgs, *Datum]
	remove  *store.Action[deleteArgs]
}

func newData(st *store.Store, p *players, home func(string, Namespace, string) (*Datum, error)) *Data {
	s := &Data{st: st, players: p, home: home, table: store.NewTable(st, store.TableSpec[Datum]{Name: "player_data", Key: (*Datum).id})}
	s.put = store.NewCommand(st, "player.put_data", s.runPut)
	s.remove = store.NewAction(st, "player.delete_data", s.runDelete)
	return s
}

// Expect is the state a write expects.
type Expect struct {
	Version int64 // If-Match; 0 expects nothing
	Absent  bool  // If-None-Match: *
}

type putArgs struct {
	Player, Key string
	Namespace   Namespace
	Value       string
	Expect      Expect
}

// Put writes a value if the state is as expected. Refusals: Invalid (key,
// namespace, JSON, a limit), VersionConflict, NotFound (player).
func (s *Data) Put(ctx context.Context, playerID string, ns Namespace, key string, value jsontext.Value, e Expect) (*Datum, error) {
	if err := checkKey(ns, key); err != nil {
		return nil, err
	}
	value = value.Clone()
	switch {
	case len(value) > MaxValue:
		return nil, refuse(Invalid, "value: %d bytes; at most %d", len(value), MaxValue)
	case value.Compact() != nil: // also fails if it is not JSON
		return nil, refuse(Invalid, "value: is not JSON")
	}
	return s.put.Do(ctx, putArgs{Player: playerID, Namespace: ns, Key: key, Value: string(value), Expect: e})
}

func checkKey(ns Namespace, key string) error {
	switch {
	case !ns.Valid():
		return refuse(NotFound, "namespace %q is none of private, public, server, secret", ns)
	case !dataKey.MatchString(key):
		return refuse(Invalid, "key: must have 1 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen")
	}
	return nil
}

func (s *Data) runPut(tx *store.Tx, a putArgs) (*Datum, error) {
	p := s.players.account(tx, a.Player)
	if p == nil {
		return nil, s.players.missing(tx, a.Player)
	}
	old := s.table.Get(tx, dataID(a.Player, a.Namespace, a.Key))
	if err := a.Expect.holds(old); err != nil {
		return nil, err
	}
	count, size := 0, len(a.Value)
	for d := range s.of(tx, a.Player, a.Namespace) {
		if d.Key != a.Key {
			count, size = count+1, size+len(d.Value)
		}
	}
	switch {
	case count >= MaxKeys:
		return nil, refuse(Invalid, "key: namespace %s holds %d keys; at most %d", a.Namespace, count, MaxKeys)
	case size > MaxNamespace:
		return nil, refuse(Invalid, "value: namespace %s would hold %d bytes; at most %d", a.Namespace, size, MaxNamespace)
	}
	// No version of a key is used twice, not even after a deletion: a request that
	// expects the old value must not overwrite the new one or mistake it for the old one.
	d := &Datum{PlayerID: a.Player, Namespace: a.Namespace, Key: a.Key, Value: a.Value, Version: p.DataDeleted + 1, Updated: tx.Now()}
	d.First = d.Version
	if old != nil {
		d.Version, d.First = old.Version+1, old.First
	}
	s.table.Put(tx, d)
	return d, nil
}

func (e Expect) holds(old *Datum) error {
	switch {
	case e.Absent && old != nil:
		return refuse(VersionConflict, "the key exists, at version %d", old.Version)
	case e.Version != 0 && old == nil:
		return refuse(VersionConflict, "the key does not exist")
	case e.Version != 0 && old.Version != e.Version:
		return refuse(VersionConflict, "the key is at version %d, not %d", old.Version, e.Version)
	}
	return nil
}

type deleteArgs struct {
	Player, Key string
	Namespace   Namespace
	Expect      Expect
}

// Delete removes a value if the state is as expected. Refusals: NotFound,
// VersionConflict.
func (s *Data) Delete(ctx context.Context, playerID string, ns Namespace, key string, e Expect) error {
	if err := checkKey(ns, key); err != nil {
		return err
	}
	return s.remove.Do(ctx, deleteArgs{Player: playerID, Namespace: ns, Key: key, Expect: e})
}

func (s *Data) runDelete(tx *store.Tx, a deleteArgs) error {
	old := s.table.Get(tx, dataID(a.Player, a.Namespace, a.Key))
	if old == nil {
		return refuse(NotFound, "the key does not exist")
	}
	if err := a.Expect.holds(old); err != nil {
		return err
	}
	s.table.Delete(tx, old.id())
	p := *s.players.table.Get(tx, a.Player)
	p.DataDeleted = max(p.DataDeleted, old.Version)
	s.players.table.Put(tx, &p)
	return nil
}

// Get returns a value. Refusals: NotFound, Invalid.
func (s *Data) Get(playerID string, ns Namespace, key string) (*Datum, error) {
	if err := checkKey(ns, key); err != nil {
		return nil, err
	}
	if s.home != nil {
		return s.home(playerID, ns, key)
	}
	if d := s.table.Get(s.st.View(), dataID(playerID, ns, key)); d != nil {
		return d, nil
	}
	return nil, refuse(NotFound, "the key does not exist")
}

// All returns all values of a namespace, by key. Refusals: NotFound (namespace).
func (s *Data) All(playerID string, ns Namespace) ([]*Datum, error) {
	if !ns.Valid() {
		return nil, checkKey(ns, "")
	}
	var all []*Datum
	for d := range s.of(s.st.View(), playerID, ns) {
		all = append(all, d)
	}
	return all, nil
}

// of yields a player's data, of one namespace or ("") of all.
func (s *Data) of(r store.Reader, playerID string, ns Namespace) iter.Seq[*Datum] {
	prefix := playerID + "/"
	if ns != "" {
		prefix += string(ns) + "/"
	}
	return func(yield func(*Datum) bool) {
		for d := range s.table.After(r, prefix) {
			if !strings.HasPrefix(d.id(), prefix) || !yield(d) {
				return
			}
		}
	}
}

// erase removes a player's data, and returns how many rows it removed.
func (s *Data) erase(tx *store.Tx, playerID string) (rows int) {
	for d := range s.of(tx, playerID, "") {
		s.table.Delete(tx, d.id())
		rows++
	}
	return rows
}
